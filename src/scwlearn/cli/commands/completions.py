"""Print a completion script for a shell.

The shell then completes commands, options, algorithms, data sets and files. The first lines of the script say how to
install it. SHELL is bash, zsh or fish; by default, your own shell.
"""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from scwlearn.cli.options import SectionCommand

_INSTALL = {
    "bash": "scwlearn completions bash > ~/.scwlearn-completions.bash\n"
    "echo '. ~/.scwlearn-completions.bash' >> ~/.bashrc",
    "zsh": "scwlearn completions zsh > ~/.scwlearn-completions.zsh\n"
    "echo 'autoload -Uz compinit && compinit && . ~/.scwlearn-completions.zsh' >> ~/.zshrc",
    "fish": "scwlearn completions fish > ~/.config/fish/completions/scwlearn.fish",
}


@click.command(cls=SectionCommand, help=__doc__)
@click.argument("shell", type=click.Choice([*_INSTALL]), required=False)
def command(shell: str | None) -> None:
    """Print a script; see the help above."""
    shell = shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in _INSTALL:
        raise click.UsageError(f"name your shell; completions are available for {', '.join(_INSTALL)}")
    completion = get_completion_class(shell)
    assert completion is not None
    from scwlearn.cli.app import scwlearn

    script = completion(scwlearn, {}, "scwlearn", "_SCWLEARN_COMPLETE")
    # `script.source()` would start bash to check its version; the script may be for another machine.
    source = script.source_template % script.source_vars()
    install = "\n".join(f"#   {line}" for line in _INSTALL[shell].splitlines())
    click.echo(f"# Completions of scwlearn for {shell}. To install them:\n{install}\n{source.strip()}")
