"""Documentation pages with commands: each command prints what the page shows."""

import shutil

import pytest

from console_pages import commands_of, environment, is_as_expected, said_by
from places import ROOT

pytestmark = pytest.mark.slow

# Pages of docs/, with the minimum number of commands.
PAGES = {"command_line.md": 20, "converting.md": 8, "from_vw.md": 7, "records.md": 6}


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are those of a shell")
@pytest.mark.parametrize("page", PAGES)
def test_commands_on_a_page_print_what_it_shows(tmp_path, page):
    variables = environment(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    commands = commands_of(ROOT / "docs" / page)
    assert len(commands) > PAGES[page]
    for command in commands:
        said = said_by(command, work, variables)
        assert is_as_expected(command, said), f"line {command.line}: {command.words}\nsays\n{said}"
