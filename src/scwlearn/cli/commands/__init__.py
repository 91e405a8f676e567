"""The commands: one file each, named as the command and opening with its one-line help."""
