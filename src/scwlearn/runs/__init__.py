"""Runs: train, predict, evaluate, merge and describe models, without printing."""
