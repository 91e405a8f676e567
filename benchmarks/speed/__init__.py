"""Speed benchmark: ratios to peers and to limits of the machine, measured in the same run."""
