"""Every file that a command writes is private until it is complete, and no other name is created."""

import os
import stat
import sys

import pytest

from scwlearn.cli.app import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files have no modes")

WRITING = {
    "train": "train DATA -m OUT/model --report OUT/page.html --save-every 2 -q",
    "train on workers": "train DATA -m OUT/model --workers 2 -q",
    "predict": "predict MODEL DATA -o OUT/labels",
    "convert data": "convert DATA -o OUT/data.csv",
    "convert compressed": "convert DATA -o OUT/data.vw.gz",
    "convert to Parquet": "convert DATA -o OUT/data.parquet",
    "convert to Arrow": "convert DATA -o OUT/data.arrow",
    "convert a model": "convert MODEL -o OUT/weights.json",
    "export": "convert MODEL -o OUT/weights.safetensors",
    "merge": "merge MODEL MODEL -m OUT/merged",
    "tune": "tune DATA -m OUT/model --plot OUT/map.svg -q",
    "compare": "compare DATA --plot OUT/errors.svg -q",
    "report": "report MODEL -o OUT/page.html",
}

_opened = []
_folder = None


def _hook(event, arguments):
    """Remember what is opened for writing."""
    if event == "open" and _folder is not None and str(arguments[0]).startswith(_folder):
        path, _, flags = arguments
        if flags & (os.O_WRONLY | os.O_RDWR):
            _opened.append(str(path))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data and a model."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "data").write_text("".join(f"{i % 2} 1:{i} 2:{i % 3 + 1}\n" for i in range(60)))
    assert run(["train", str(folder / "data"), "-m", str(folder / "model"), "-q"]) == 0
    sys.addaudithook(_hook)
    return folder


@pytest.mark.parametrize("command", WRITING)
def test_a_file_is_private_until_it_is_complete(command, files, tmp_path, monkeypatch):
    global _folder
    modes, chmod = [], os.chmod

    def widened(path, mode):
        modes.append((stat.S_IMODE(os.stat(path).st_mode), mode))
        chmod(path, mode)

    monkeypatch.setattr(os, "chmod", widened)
    places = {"DATA": files / "data", "MODEL": files / "model", "OUT": tmp_path}
    words = WRITING[command]
    for name, place in places.items():
        words = words.replace(name, str(place))
    _opened.clear()
    umask, _folder = os.umask(0o027), str(tmp_path)
    try:
        assert run(words.split()) == 0
    finally:
        _folder = None
        os.umask(umask)
    assert _opened
    assert {path.endswith(".scwlearn.tmp") for path in _opened} == {True}
    assert modes
    assert set(modes) == {(0o600, 0o640)}
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
