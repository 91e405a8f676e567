"""Quality benchmark: errors and probabilities after one pass, ours and those of other libraries."""
