"""Where examples come from, and the form in which the loops read them."""
