"""Run the command line as ``python -m scwlearn.cli``."""

from scwlearn.cli import console

if __name__ == "__main__":
    console()
