"""The fuzz targets: each takes any bytes, and fails if its claim does not hold.

A target in C++ is a parser under sanitizers, run by libFuzzer. One in Python has a function `run(data)`, and may have
`mutate(data, longest, random)`; atheris runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
ROOT = _FOLDER.parent.parent


@dataclass(frozen=True)
class Target:
    """What is fuzzed, and within which bounds.

    Attributes
    ----------
    source : str
        File in this folder.
    claim : str
        What holds for every input: a row of the table in docs/testing.md.
    longest : int
        Longest input, in bytes.
    memory : int
        Megabytes that the process may take. A small input that takes more is a finding.
    seconds : int
        Longest time for an input.
    corpora : tuple of str
        Other targets whose inputs are also read.
    dictionary : str or None
        Words of the format.
    packages : tuple of str
        Packages whose branches guide a target in Python.
    """

    source: str
    claim: str
    longest: int
    memory: int
    seconds: int = 10
    corpora: tuple[str, ...] = ()
    dictionary: str | None = None
    packages: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name on the command line, and of the corpus."""
        return self.path.stem

    @property
    def path(self) -> Path:
        """The source."""
        return _FOLDER / self.source

    @property
    def is_native(self) -> bool:
        """Whether the target is C++."""
        return self.path.suffix == ".cpp"

    @property
    def corpus(self) -> Path:
        """The inputs that are kept with the source."""
        return ROOT / "fuzz" / "corpus" / self.name

    @property
    def folders(self) -> list[Path]:
        """The folders of inputs that are kept: its own, and those of other targets that it reads."""
        folders = [self.corpus, *map(self.corpus.with_name, self.corpora)]
        return [folder for folder in folders if folder.exists()]


# The sanitizers keep up to 256 MB of freed memory, to detect that it is used.
_SANITIZED = 512
# Python and the libraries that it imports take half of it.
_PYTHON = 512

TARGETS = {
    target.name: target
    for target in (
        Target("libsvm.cpp", "The LIBSVM parser", longest=1024, memory=_SANITIZED, dictionary="libsvm"),
        Target("vw.cpp", "The VW parser", longest=512, memory=_SANITIZED, dictionary="vw"),
        Target("csv.cpp", "The CSV parser", longest=512, memory=_SANITIZED, dictionary="csv"),
        Target("json.cpp", "The JSON parser", longest=512, memory=_SANITIZED, dictionary="json"),
        Target("arrow.cpp", "The reader of Arrow's C interface", longest=1024, memory=_SANITIZED),
        Target("numbers.cpp", "The number parser gives the bits of strtod", longest=256, memory=_SANITIZED),
        Target("names.cpp", "Tables of names equal a map, whatever the names", longest=128, memory=_SANITIZED),
        Target(
            "records.cpp",
            "A record has the same features alone and among others, with any settings",
            longest=256,
            memory=_SANITIZED,
            corpora=("json",),
            dictionary="json",
        ),
        Target(
            "reader.py",
            "Text of any format is read, again in the same way, or refused",
            longest=256,
            memory=_PYTHON,
            corpora=("csv", "json", "libsvm", "vw"),
            dictionary="csv",
            packages=("scwlearn.data",),
        ),
        Target(
            "tables.py",
            "Arrow and Parquet files with any types and values, and damaged Arrow files, are read or refused",
            longest=512,
            memory=1024,
            packages=("scwlearn.data",),
        ),
        Target(
            "model.py",
            "A model file with any content and a right checksum is refused, or its model can be used, saved and merged",
            longest=24_576,
            memory=_PYTHON,
            packages=("scwlearn.files",),
        ),
        Target(
            "bindings.py",
            "Dicts of any keys and values are learned, or refused and change nothing",
            longest=256,
            memory=_PYTHON,
            packages=("scwlearn.learning", "scwlearn.stream"),
        ),
        Target(
            "arguments.py",
            "Any command line ends with a message and a right exit code, and touches no other file",
            longest=256,
            memory=1024,
            packages=("scwlearn.cli", "scwlearn.runs"),
        ),
    )
}
