"""Where data comes from: files, pipes and standard input, their bytes, their lines, and what is wrong with them."""
