"""scwlearn datasets: list, fetch, verify and show."""

import lzma
import subprocess
import sys

import pytest

from places import DATA
from scwlearn.cli.app import run
from scwlearn.datasets import all_sets, is_present


def started(*arguments, **options):
    """The command in a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run([sys.executable, "-m", "scwlearn.cli", *arguments], text=True, check=False, **options)


def test_listing_does_not_import_scikit_learn():
    code = "import sys; from scwlearn.cli.app import run; run(['datasets']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sklearn", "matplotlib", "pandas"} & set(done.stdout.splitlines()[-1].split())


def test_the_list_shows_all_sets_without_truncation(tmp_path):
    done = started("datasets", "--data-dir", str(tmp_path))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for named in all_sets():
        (line,) = [line for line in lines if line.split()[:1] == [named.name]]
        assert f"{named.rows} x {named.features}" in line
        assert named.licence in line
        assert ("missing" if named.files else "generated") in line
    assert "scwlearn datasets fetch splice svmguide3" in done.stdout
    assert "To make mitface, news-pc-mac, news-electronics-med, news-guns-mideast by hand" in done.stdout
    assert "…" not in done.stdout


def test_show_prints_the_whole_declaration(capsys, tmp_path):
    assert run(["datasets", "--data-dir", str(tmp_path), "show", "news-pc-mac"]) == 0
    printed = capsys.readouterr().out
    for text in ("4 as +1, 5 as -1", "log(1 + count)", "CSR", "Lang 1995", "by hand", "[a-z]{2,}", "(missing)"):
        assert text in printed
    assert str(tmp_path / "20news" / "20news.train.libsvm.xz") in printed


@pytest.mark.data
def test_verify_accepts_good_files(capsys):
    if not all(is_present(named, DATA) for named in all_sets() if named.name in ("splice", "mushrooms")):
        pytest.skip("splice or mushrooms are not in the data directory")
    assert run(["datasets", "verify", "splice", "mushrooms", "digits", "--data-dir", str(DATA)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "splice/splice.libsvm.xz: good\nmushrooms/mushrooms.libsvm.xz: good\n"
    assert printed.err.splitlines()[0] == "verifying: started"


def test_verify_exits_with_1_if_a_file_differs_or_is_missing(capsys, tmp_path):
    path = tmp_path / "splice" / "splice.libsvm.xz"
    path.parent.mkdir()
    path.write_bytes(lzma.compress(b"1 1:1\n"))
    assert run(["datasets", "verify", "--quiet", "--data-dir", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == "splice/splice.libsvm.xz: different\n"
    assert "not as declared" in printed.err
    assert run(["datasets", "verify", "w7a", "--quiet", "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "w7a/w7a.libsvm.xz: missing\n"


def test_fetch_continues_after_a_set_that_cannot_be_fetched(capsys, tmp_path):
    assert run(["datasets", "fetch", "mitface", "embedded", "--cache", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "digits: needs no files" in printed.err
    assert "fetching: done" not in printed.err
    assert "scwlearn: error: mitface cannot be fetched" in printed.err
    assert str(tmp_path / "mitface" / "mitface.libsvm.xz") in printed.err


def test_help_is_not_truncated(capsys):
    assert run(["datasets", "--help"]) == 0
    assert "..." not in capsys.readouterr().out.split("Commands:")[1]
