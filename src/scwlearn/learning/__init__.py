"""Rule x model x rows: learners, and what is built of them."""
