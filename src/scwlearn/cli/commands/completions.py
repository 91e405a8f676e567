"""Print the completion script of a shell."""

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


@click.command(cls=SectionCommand)
@click.argument("shell", type=click.Choice([*_INSTALL]), required=False)
def command(shell: str | None) -> None:
    """Print what makes SHELL complete the words of this command; without a name, for the shell that is yours.

    The first lines say where to put it.
    """
    shell = shell or _own_shell()
    made = get_completion_class(shell)
    assert made is not None
    from scwlearn.cli.app import scwlearn

    script = made(scwlearn, {}, "scwlearn", "_SCWLEARN_COMPLETE")
    # Click would start bash to look at its version; where the script runs is for the user to say.
    source = script.source_template % script.source_vars()
    how = "\n".join(f"#   {line}" for line in _INSTALL[shell].splitlines())
    click.echo(f"# Completions of scwlearn for {shell}. To have them in every new shell:\n{how}\n{source.strip()}")


def _own_shell() -> str:
    shell = os.path.basename(os.environ.get("SHELL", ""))
    if shell not in _INSTALL:
        raise click.UsageError(f"there are completions for {', '.join(_INSTALL)}; which of them is your shell?")
    return shell
