"""How fast it is: every figure is a ratio to a peer or to the machine's limit, measured in the same run."""
