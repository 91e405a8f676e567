"""Fuzzing: random inputs, guided by the code that they reach, through every parser and every other face to the outside.

`fuzz/targets/` has one file for each target, `fuzz/dictionaries/` words of the formats, and `fuzz/corpus/` the inputs
worth keeping. `python -m fuzz --help` shows how to run them.
"""
