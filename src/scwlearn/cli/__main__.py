"""python -m scwlearn.cli: the command, where it is not on the path."""

from scwlearn.cli import main

if __name__ == "__main__":
    main()
