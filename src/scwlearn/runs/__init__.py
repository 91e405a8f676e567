"""Runs: from examples of any source to a model, and a record of what happened on the way."""
