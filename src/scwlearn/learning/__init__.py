"""Learners, which run a rule with a model over rows, and what is built on them."""
