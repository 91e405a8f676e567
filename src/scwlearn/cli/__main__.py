"""Run the command line as ``python -m scwlearn.cli``."""

from scwlearn.cli import main

if __name__ == "__main__":
    main()
