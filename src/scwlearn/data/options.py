"""Options that all readers of examples share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from scwlearn._util.checks import check_bool, check_choice, check_int
from scwlearn.data.features import Features
from scwlearn.data.io.errors import SkippedRecords

# The parsers count in 31 bits.
_MAX_BYTES = 2**30


@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    """Options of all readers; a format ignores those that do not apply to it.

    Parameters
    ----------
    labels : {"required", "optional", "ignored"}
        Whether an example without a label is an error. If labels are ignored, they may be anything, and weights, too.
    on_error : {"raise", "skip"}
        What to do about an example that cannot be read: raise a DataError, or leave it out.
    skipped : SkippedRecords
        Counts the examples that are left out.
    read_ahead : bool
        Whether the next batches are read while the caller works on one, by as many threads as linear algebra may use
        (at most 8).
    chunk_bytes : int or None
        Size of the text that makes a batch, up to 1 GiB. None: 4 MiB, of JSON 8 MiB.
    max_line_bytes : int
        Longest line that is read, up to 1 GiB.
    max_record_bytes : int
        Longest CSV or TSV record that is read, which may span lines. A longer one is an error even if errors are
        skipped.
    batch_rows : int
        Largest number of rows of a Parquet or Arrow file in a batch.
    eager : bool
        Whether the lines that a pipe has delivered become a batch at once, without waiting for a whole chunk.
    on_read : callable or None
        Called with the number of bytes of each read from a source, before decompression, for a progress bar; by the
        thread that reads.
    slots : int
        Number of weights that a model hashes names to; the readers then compute the hashes. 0 if names are not hashed.
    features : Features or None
        What values mean to a model without a schema; None if there is none, so that the first records determine the
        kinds that are not declared.
    known_names : callable or None
        Returns the names of all features that a model knows. They show which columns of CSV and TSV files, whose cells
        have no types, are numeric; the first records decide about columns that the model does not know.
    lost_names : callable or None
        Returns which of some names a model may have learned although it does not list them: other names have their
        slots. None if the model lists all names that it has learned.
    known_label_kind : callable or None
        Returns "numeric" or "categorical", the kind of the labels that a model knows; None if it knows none.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.options import ReaderOptions
    >>> from scwlearn.data.reading import read_batches
    >>> options = ReaderOptions(on_error="skip", chunk_bytes=8)
    >>> options
    ReaderOptions(on_error='skip', chunk_bytes=8)
    >>> _, batches = read_batches([io.BytesIO(b"1 1:1\\n1 spam\\n-1 2:1\\n")], options=options)
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
    on_read: Callable[[int], None] | None = None
    slots: int = 0
    features: Features | None = None
    known_names: Callable[[], Iterable[Any]] | None = None
    lost_names: Callable[[list[str]], set[str]] | None = None
    known_label_kind: Callable[[], str | None] | None = None

    def __post_init__(self) -> None:
        check_choice("labels", self.labels, ("required", "optional", "ignored"))
        check_choice("on_error", self.on_error, ("raise", "skip"))
        if not isinstance(self.skipped, SkippedRecords):
            raise TypeError(f"skipped must be a SkippedRecords, got {self.skipped!r}")
        for name in ("on_read", "known_names", "lost_names", "known_label_kind"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise TypeError(f"{name} must be callable or None, got {getattr(self, name)!r}")
        if not isinstance(self.features, Features | None):
            raise TypeError(f"features must be Features or None, got {self.features!r}")
        for name in ("read_ahead", "eager"):
            self._set(name, check_bool(name, getattr(self, name)))
        for name in ("max_line_bytes", "max_record_bytes", *(() if self.chunk_bytes is None else ("chunk_bytes",))):
            self._set(name, check_int(name, getattr(self, name), maximum=_MAX_BYTES))
        self._set("batch_rows", check_int("batch_rows", self.batch_rows))
        self._set("slots", check_int("slots", self.slots, minimum=0, maximum=2**31 - 1))

    def _set(self, name: str, value: int) -> None:
        # Python integers: small NumPy ones would overflow when doubled.
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Return the options that differ from the defaults."""
        defaults = {"skipped": SkippedRecords()} | vars(ReaderOptions)
        changed = [f"{name}={value!r}" for name, value in vars(self).items() if value != defaults[name]]
        return f"ReaderOptions({', '.join(changed)})"

    @property
    def skips(self) -> bool:
        """Whether examples that cannot be read are left out."""
        return self.on_error == "skip"

    @property
    def ignores_labels(self) -> bool:
        """Whether labels and weights are not read."""
        return self.labels == "ignored"

    @property
    def optional_labels(self) -> bool:
        """Whether an example needs no label."""
        return self.labels != "required"
