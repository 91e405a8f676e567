"""What may be asked of whoever reads examples, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scwlearn._util.checks import check_bool, check_choice, check_int
from scwlearn._util.threads import allowed_threads
from scwlearn.data.io.errors import DataError, SkippedRecords

# What parsers count in has 31 bits.
_MOST_BYTES = 2**30
#: So many work about as fast as one of them reads.
MOST_THREADS = 8


@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    """What all readers of examples take. What means nothing to a format is not used there.

    Parameters
    ----------
    labels : {"required", "optional"}
        Whether an example without a label is an error, or one as it is to be predicted.
    on_error : {"raise", "skip"}
        What to do about an example that cannot be read: raise a ValueError, or leave it out.
    skipped : SkippedRecords
        Counts what is left out.
    read_ahead : bool
        Whether the next batches are read while the caller works on one, one each by as many threads as linear algebra
        may use (up to 8; one for JSON). False: without threads.
    chunk_bytes : int or None
        How much text makes a batch, up to 1 GiB. None: 4 MiB of LIBSVM or VW text, 1 MiB of other text.
    max_line_bytes : int
        A longer line is an error, unless it was read along with others. At most 1 GiB.
    max_record_bytes : int
        The same for records of CSV and TSV, which may have several lines. One that is longer is an error also where
        faults are left out.
    batch_rows : int
        How many rows of a Parquet or Arrow file make a batch, at most.
    eager : bool
        Whether a pipe is not waited for until a chunk is full: whatever lines a read has ended are a batch.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.options import ReaderOptions
    >>> from scwlearn.data.reading import read_examples
    >>> options = ReaderOptions(on_error="skip", chunk_bytes=8)
    >>> options
    ReaderOptions(on_error='skip', chunk_bytes=8)
    >>> _, batches = read_examples([io.BytesIO(b"1 1:1\\n1 spam\\n-1 2:1\\n")], options=options)
    >>> [len(batch) for batch in batches], options.skipped.count
    ([1, 1], 1)
    """

    labels: str = "required"
    on_error: str = "raise"
    skipped: SkippedRecords = field(default_factory=SkippedRecords, hash=False)
    read_ahead: bool = True
    chunk_bytes: int | None = None
    max_line_bytes: int = 64 * 2**20
    max_record_bytes: int = 64 * 2**20
    batch_rows: int = 2**16
    eager: bool = False

    def __post_init__(self) -> None:
        check_choice("labels", self.labels, ("required", "optional"))
        check_choice("on_error", self.on_error, ("raise", "skip"))
        if not isinstance(self.skipped, SkippedRecords):
            raise TypeError(f"skipped must be a SkippedRecords, which counts what is left out, got {self.skipped!r}")
        for name in ("read_ahead", "eager"):
            self._keep(name, check_bool(name, getattr(self, name)))
        for name in ("max_line_bytes", "max_record_bytes", *(() if self.chunk_bytes is None else ("chunk_bytes",))):
            self._keep(name, check_int(name, getattr(self, name), maximum=_MOST_BYTES))
        self._keep("batch_rows", check_int("batch_rows", self.batch_rows))

    def _keep(self, name: str, value: int) -> None:
        # Python's own: short numbers of NumPy would overflow where they are doubled.
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """What is not as usual: it is what readers show as their default, too."""
        usual = {"skipped": SkippedRecords()} | vars(ReaderOptions)
        said = [f"{name}={value!r}" for name, value in vars(self).items() if value != usual[name]]
        return f"ReaderOptions({', '.join(said)})"

    @property
    def skips(self) -> bool:
        """Whether what cannot be read is left out."""
        return self.on_error == "skip"

    @property
    def most_found(self) -> int:
        """How many faults of a chunk are worth describing."""
        return max(self.skipped.keep, 1) if self.skips else 1

    def threads(self, most: int = MOST_THREADS) -> int:
        """How many threads read ahead."""
        return min(allowed_threads(), most) if self.read_ahead else 0

    def drop(self, errors: Iterable[DataError]) -> None:
        """Raise the first error, or count all of them."""
        for error in errors:
            if not self.skips:
                raise error
            self.skipped.add(error)
