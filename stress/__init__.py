"""Trials of random cases by the thousand: a few run in `make test`, and many in `make stress`."""
