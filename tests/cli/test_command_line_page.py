"""Pages of commands, the tutorial of the command line first: followed word for word, they work line by line."""

import shutil

import pytest

from console_pages import commands_of, environment, is_as_expected, said_by
from places import ROOT

# Pages of docs/, and how many commands they have at least.
PAGES = {"command_line.md": 20, "converting.md": 8}


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are those of a shell")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_works_line_by_line(tmp_path, page):
    variables = environment(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    commands = commands_of(ROOT / "docs" / page)
    assert len(commands) > PAGES[page]
    for command in commands:
        said = said_by(command, work, variables)
        assert is_as_expected(command, said), f"line {command.line}: {command.words}\nsays\n{said}"
