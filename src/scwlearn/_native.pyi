"""The native loops, parsers and calibration of scwlearn."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


LARGEST_VALUE: float = 1e+150

SMALLEST_WEIGHT: float = 1e-100

LARGEST_WEIGHT: float = 1e+100

SMALLEST_VARIANCE: float = 1e-200

LARGEST_VARIANCE: float = 1e+150

LARGEST_BLOCK: int = 4096

SHARED_STRIDE: int = 8

CACHED_FEATURES: int = 16384

MOST_THREADS: int = 256

SCALARS: int = 6

KEPT_BY_AVERAGES: float = 0.9995

AVERAGE_STATE: int = 3

LANE_MULTIPLE: int = 4

def instruction_sets() -> list[str]:
    """
    Return the instruction sets that this processor supports, the best first.
    """

def use_instruction_set(name: str) -> None:
    """Use this instruction set from now on."""

def clear_vector_registers() -> None:
    """
    Clear the upper halves of this thread's vector registers, which slow down the parsers.
    """

def as_weight(w: float | None) -> float:
    """
    Return the weight of an example as a float; raise an error for what is none.
    """

def as_number(value: object | None) -> float | None:
    """
    Return the float of a number, infinite if it is too large for one, or None for any other object.
    """

def rule_names() -> list[str]:
    """Return the names of the rules that were compiled into this module."""

class Rule:
    """
    A compiled rule with its constants, or a function that is called for each row.
    """

    @overload
    def __init__(self, name: str, constants: Sequence[float]) -> None: ...

    @overload
    def __init__(self, function: object, uses_norm: bool) -> None: ...

    def step(self, m: float, v: float, norm2: float, t: float, n: float = 1.0, w: float = 1.0) -> tuple[float, float, float, float]:
        """Return its step: alpha, precision, shrink, grow."""

class Lock:
    """
    A re-entrant lock of what threads share. In a process that is forked while another thread has it, it is free; but if that thread was in `with lock.changing`, it raises a RuntimeError.
    """

    def __init__(self) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

    @property
    def changing(self) -> Holding:
        """A block that takes the lock and changes what it guards."""

    @property
    def learning(self) -> Learning:
        """
        A block within `changing` in which code that is called, such as a rule or a number, may not change what the lock guards: `changing` raises a RuntimeError.
        """

class Learning:
    """A block that calls user code."""

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

class Holding:
    """A block that has some locks."""

    def __init__(self, locks: list[Lock]) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

def replace_attributes(attributes: dict, changes: dict, expected: dict, handles: tuple[str, ...]) -> bool:
    """
    Replace attributes of an object in one step: other threads, and handlers of signals, see all of it or nothing. Change nothing and return False unless those `expected` are the same objects. The `handles` that are there are retired.
    """

def scan_rows(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int) -> tuple[str, int, int, bool]:
    """
    Return the first problem of a batch (value, index, offset, or an empty string), its row and position, and whether the indices of each row strictly increase.
    """

def learn_scales(kind: str, states: tuple[Annotated[NDArray[numpy.float64], dict(device='cpu')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]], values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, scaled: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]] | None:
    """
    For each row of a scanned batch in order: update the states of its features, unless its weight is 0, then write the scaled values. Standardised sparse rows are returned instead: values, indices and offsets.
    """

def apply_scales(kind: str, states: tuple[Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, scaled: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]] | None:
    """
    Write the scaled values of a scanned batch. Standardised sparse rows are returned instead.
    """

def take_rows(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]]:
    """
    Return copies of compressed sparse rows by number: values, indices and offsets.
    """

def appearances(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, width: int) -> tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]]:
    """
    Return the columns of compressed sparse rows in the order of their first appearance, and the number of values other than 0 of each column.
    """

def place_rows(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], signs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, width: int) -> tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]]:
    """
    Map the columns of compressed sparse rows to features, in order; return values, indices and offsets. Features outside the width are dropped; values of one feature are added.
    """

class Model:
    """
    The arrays of a model, which the loops update in place; binary if lanes is 1.
    """

    def __init__(self, covariance: str, joint: bool, shared: bool, size: int, lanes: int, entries: Annotated[NDArray[numpy.float64], dict(device='cpu')], scalars: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], known: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], tally: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], initial_variance: float, average: tuple[Annotated[NDArray[numpy.float64], dict(device='cpu')], Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]] | None = None, variance_floor: float = 0.0, rivals: str = 'max') -> None: ...

def full_stride(size: int) -> int:
    """Return the distance between the vectors of a full covariance."""

def full_precisions(factors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray, dict(shape=(None,), order='C')]:
    """
    Return the diagonal of (U D U')^-1 by place; `factors` has D and the columns of U.
    """

def widen_full(known: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], wider: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], at: int, variance: float) -> None:
    """
    Copy a Sigma, except its mean, into a larger one filled with zeros, with new features of this variance at index `at`. The two must not overlap.
    """

def learn_rows(rule: Rule, model: Model, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, intercept: bool, labels: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, block: int, threads: int, trace: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None, variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, checked: bool = True, jobs: int = 1) -> bool:
    """
    Learn from all rows, or from those with the numbers in `order`, in that order, and add rows, mistakes and updates to the tally. Before each row, `scores` gets its score or those of all classes, `variances` the variance of the largest; of a binary model, `trace` gets score, variance, alpha and precision. Rows that were not scanned (`checked`) are checked one by one, unless Sigma is full or there are several classes. One versus rest, classes learn on up to `jobs` threads. Returns False if it stopped at an invalid row.
    """

def score_rows(covariance: str, shared: bool, lanes: int, classes: int, entries: Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)], scalars: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], average: tuple[Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]] | None, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, intercept: bool, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> bool:
    """
    Compute the scores of each row and class, of mu or of its average; return whether all are finite. With several classes, the batch must have been scanned.
    """

class Vocabulary:
    """The names of the features of dicts, apart from the model."""

    def __init__(self, max_features: int | None = None, hashed: bool = False) -> None: ...

    def __len__(self) -> int: ...

    @property
    def max_features(self) -> int | None: ...

    @property
    def hashed(self) -> bool: ...

    @property
    def key_type(self) -> type | None:
        """What all keys are; None before the first."""

    @property
    def names(self) -> dict:
        """
        The feature of each name, read-only; if hashed, of the names that own a slot.
        """

    @property
    def features(self) -> dict[int, tuple[object, bool]]:
        """The name of each feature, and whether other names share it."""

    def read(self, x: dict) -> tuple[list[int], list[float], list]:
        """
        Return the features of an example, their values, and its new names. Changes nothing.
        """

    def check(self, rows: tuple, room: int) -> bool:
        """
        Raise an error for the first invalid example. Return whether learning from them may bring more names than there is room for. Changes nothing.
        """

    def find(self, names: list, learns: bool) -> Annotated[NDArray, dict(shape=(None,), order='C')]:
        """
        Return the feature of each name; for an unknown name the next free one if `learns`, else -1. Changes nothing.
        """

    def hashes(self, names: list) -> NDArray[numpy.uint32]:
        """Return the hash of each name."""

    def slots(self, hashes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]]:
        """Return the slot and the sign of each hash of a name."""

    def add(self, names: list) -> None:
        """Add names that are not hashed."""

    def vote(self, names: list, hashes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """
        Count the occurrences of hashed names in the values other than 0 of compressed sparse rows, one after the other. A column without a name has None.
        """

    def kept(self, features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Vocabulary:
        """Return a vocabulary with these features only, in this order."""

    def unite(self, other: Vocabulary) -> Annotated[NDArray, dict(shape=(None,), order='C')]:
        """
        Append the names of the other, possibly more than max_features; return the feature of each here.
        """

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    def __copy__(self) -> Vocabulary: ...

class OneByOne:
    """
    A rule and a model, ready to learn from one example after another. A score is a float, or an array with one score per class.
    """

    def __init__(self, vocabulary: Vocabulary | None, rule: Rule, model: Model, intercept: bool, scale: str, states: tuple[NDArray, NDArray] | None) -> None: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def scores(self) -> int:
        """The number of scores of an example."""

    @property
    def variance(self) -> float:
        """
        x'Sigma x of the dict that was learned from last, before the update; with several classes, of the one with the largest score.
        """

    def attach(self, lock: Lock) -> None:
        """Learn from now on only while no other thread has the lock."""

    def retire(self) -> None:
        """Learn no more, since the model has been replaced."""

    def score(self, x: object, /) -> Any:
        """Return the score of a vector."""

    def learn(self, x: object, y: float, w: float, /) -> Any:
        """
        Learn from a vector; return its score before. Returns None if there is no room for its class, if another thread has the model, or it has been replaced.
        """

    def score_named(self, x: dict, /) -> Any:
        """Return the score of a dict."""

    def look_named(self, x: dict, /) -> tuple[Any, float]:
        """Return the score of a dict, and the variance of the largest."""

    def learn_named(self, x: dict, y: float, w: float, /) -> Any:
        """
        Learn from a dict; return its score before. Adds new names. Returns None if the model has no room for them or for the class, if another thread has it, or it has been replaced.
        """

    def score_list(self, rows: tuple, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> None:
        """Compute the scores of dicts, and their variances."""

    def learn_list(self, rows: tuple, labels: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, sample_weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, first: int, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> int:
        """
        Learn from checked dicts, from number `first` on, and write their scores before and variances. Return where it stopped: at a dict that the model has no room for, at the end, or after as many as one call may take.
        """

    def look_rows(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        Compute the scores of scanned rows, and the variance of the largest, as those of dicts.
        """

class CommitteeByOne:
    """
    A committee, ready to learn from single examples and batches. A score is the mixed log-odds, or an array with one score per class.
    """

    def __init__(self, vocabulary: Vocabulary | None, rules: Sequence[Rule], models: Sequence[Model], intercept: bool, scales: Sequence[str], states: tuple[NDArray, NDArray] | None, mixture: NDArray, tally: NDArray) -> None: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def scores(self) -> int:
        """The number of scores of an example."""

    @property
    def variance(self) -> float:
        """
        x'Sigma x of the dict that was learned from last, before the update; with several classes, of the one with the largest score.
        """

    def attach(self, lock: Lock) -> None:
        """Learn from now on only while no other thread has the lock."""

    def retire(self) -> None:
        """Learn no more, since the model has been replaced."""

    def score(self, x: object, /) -> Any:
        """Return the score of a vector."""

    def learn(self, x: object, y: float, w: float, /) -> Any:
        """
        Learn from a vector; return its score before. Returns None if there is no room for its class, if another thread has the model, or it has been replaced.
        """

    def score_named(self, x: dict, /) -> Any:
        """Return the score of a dict."""

    def look_named(self, x: dict, /) -> tuple[Any, float]:
        """Return the score of a dict, and the variance of the largest."""

    def learn_named(self, x: dict, y: float, w: float, /) -> Any:
        """
        Learn from a dict; return its score before. Adds new names. Returns None if the model has no room for them or for the class, if another thread has it, or it has been replaced.
        """

    def score_list(self, rows: tuple, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> None:
        """Compute the scores of dicts, and their variances."""

    def learn_list(self, rows: tuple, labels: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, sample_weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, first: int, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> int:
        """
        Learn from checked dicts, from number `first` on, and write their scores before and variances. Return where it stopped: at a dict that the model has no room for, at the end, or after as many as one call may take.
        """

    def learn_rows(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, labels: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, own_weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, calibrate: bool, blocks: Sequence[int], threads: int, jobs: int, mixed: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        Learn from the rows of a scanned batch in order; member m takes blocks[m] rows at a time. Write the mixed scores of each row from before it was learned. `own_weights` are the sample weights without class weights. `jobs` threads scale, learn and mix side by side; each member has `threads` threads of its own.
        """

def parse_libsvm(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], zero_based: bool, max_features: int, single: bool, labels_optional: bool = False, skip_faults: bool = False, most_found: int = 1, labels_ignored: bool = False) -> tuple[tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]], tuple[int, int], tuple[int, list[tuple[str, int, int, bytes]]]]:
    """
    Parse text of whole lines. Return labels, values, indices, offsets and the line of each example; the numbers of lines and columns; the number of lines with an error, and for the first of them its kind, line and column, counted from 1, and the text found there. Stops at the first error unless skip_faults.
    """

def parse_vw(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], spec: FeatureSpec, word_labels: bool | None, labels_optional: bool, skip_faults: bool, most_found: int, used: Annotated[NDArray[numpy.int64], dict(shape=(1), order='C', device='cpu')] | None = None) -> tuple[tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list, Annotated[NDArray, dict(shape=(None,), order='C')] | None], tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list], Annotated[NDArray, dict(shape=(None,), order='C')] | None, list | None, Annotated[NDArray, dict(shape=(None,), order='C')], tuple[int, int], tuple[int, list[tuple[str, int, int, bytes]]]]:
    """
    Parse text of whole lines, or in parts as parse_csv does. Labels are words or numbers, or ignored if word_labels is None. Return values, columns, offsets, names of columns and their hashes or None; labels, which words they are, and all words; weights and tags, or None; the line of each example; the number of lines, and of lines without a label that are left out; and the errors, as parse_libsvm does.
    """

def vw_labels_are_words(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool | None:
    """
    Return whether the first label in a text of whole lines is a word, or None without labels.
    """

LONGEST_KEY: int = 256

LONGEST_LABEL: int = 256

DEEPEST: int = 32

MISSING_NUMBERS: tuple = ...

def is_date(text: str) -> bool:
    """Return whether a text is a date as date columns have it."""

class FeatureSpec:
    """How records become features, for the readers of all formats."""

    def __init__(self, *, kinds: dict, others: str, separator: str, lowercase: bool, ngram: int, skips: int, char_ngrams: tuple[int, int], longest_word: int, decimal: str, nan_is_missing: bool, missing: Sequence[str], interactions: Sequence[Sequence[str]], slots: int) -> None: ...

    def owner_of(self, name: str) -> str | None:
        """
        Return the declared key that a name is, or of which it is a feature; None if there is none.
        """

class RecordReader:
    """Reads dicts, one at a time, by a spec."""

    def __init__(self, spec: FeatureSpec) -> None: ...

    def read(self, record: dict, /) -> dict[str, float] | tuple[str, str, str]:
        """
        Return the values of the features by name; or why the record is refused, the key and the value found there.
        """

def parse_csv(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], spec: FeatureSpec, columns: Sequence[str], delimiter: str, labels: str, labels_optional: bool, skip_faults: bool, most_found: int, used: Annotated[NDArray[numpy.int64], dict(shape=(1), order='C', device='cpu')] | None = None) -> tuple[tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list, Annotated[NDArray, dict(shape=(None,), order='C')] | None], tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list, bool], Annotated[NDArray, dict(shape=(None,), order='C')] | None, Annotated[NDArray, dict(shape=(None,), order='C')], int, tuple[Annotated[NDArray, dict(shape=(None,), order='C')], list[tuple[str, int, str, bytes]]]]:
    """
    Parse text of whole records with these columns, or if the array `used` is given, as many as fill a batch, and set it to the number of bytes up to there. Return values, columns and offsets of the rows, the names of their columns and their hashes; labels as numbers, which words they are, all words, and whether all are bools; weights or None; the line of each record; the number of lines; the places of the records with an error, and for the first of them its kind, line, column and the value found there; a quote that is not closed is the last one. Stops at the first error unless skip_faults.
    """

def split_csv(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], delimiter: str, most_records: int) -> tuple[list[list], list[int], int, int, tuple[int, int] | None]:
    """
    Return the cells of the first records of a text of whole records, the line of each; the end of the last one, and the number of lines up to it; and the line and offset of a quote that is not closed, or None.
    """

def last_csv_end(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], delimiter: str) -> int:
    """
    Return the end of the last whole record of a text that starts with a record, or 0.
    """

def parse_json(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], spec: FeatureSpec, labels: str, labels_optional: bool, skip_faults: bool, most_found: int, part: str, is_last: bool, used: Annotated[NDArray[numpy.int64], dict(shape=(1), order='C', device='cpu')] | None = None) -> tuple[tuple[tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list, Annotated[NDArray, dict(shape=(None,), order='C')] | None], tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list, bool], Annotated[NDArray, dict(shape=(None,), order='C')] | None, Annotated[NDArray, dict(shape=(None,), order='C')], int, tuple[Annotated[NDArray, dict(shape=(None,), order='C')], list[tuple[str, int, str, bytes]]]], list[tuple[int, int]]]:
    """
    Parse lines with an object each, or a piece of an array (its start, its rest or its end, which `is_last` demands). Labels are numeric, strings, categorical (numbers count as their text), or any of the first two. `used` is that of parse_csv. Return what parse_csv does, with the number of each record, its line or place in the array, in place of lines; and the line and column of each error that is described. An error after which the array cannot be read is the last one. Stops at the first error unless skip_faults.
    """

def split_json(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], part: str, most: int) -> tuple[list[bytes], int]:
    """
    Return the texts of the first records of a text, valid or not, and where the rest starts.
    """

def text_extent(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[int, int]:
    """
    Return the number of newlines in a text, and of characters behind the last one.
    """

class JsonArrayCutter:
    """Cuts the text of an array behind elements."""

    def __init__(self) -> None: ...

    def last_end(self, text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """
        Return the end of the last whole element, or 0; the end of the text, if the array ends in it. The next text starts there.
        """

    @property
    def is_closed(self) -> bool:
        """Whether the array has ended, or the text is not an array."""

def read_arrow(data: object, spec: FeatureSpec, labels: str, labels_optional: bool, skip_faults: bool, most_found: int, utc_offset: Callable, used: Annotated[NDArray[numpy.int64], dict(shape=(1), order='C', device='cpu')] | None = None) -> tuple[tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list, Annotated[NDArray, dict(shape=(None,), order='C')] | None], tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], list, bool], Annotated[NDArray, dict(shape=(None,), order='C')] | None, Annotated[NDArray, dict(shape=(None,), order='C')], int, tuple[Annotated[NDArray, dict(shape=(None,), order='C')], list[tuple[str, int, str, bytes]]]]:
    """
    Read the batches of a table, which is what __arrow_c_stream__ or __arrow_c_array__ return, or if the array `used` is given, as many records of a single batch as fill the rows, and store their number there. `utc_offset(zone, seconds)` returns how many seconds a zone is ahead of UTC, or NaN if it is unknown. Return what parse_csv returns, with the number of each record in place of its line; 0 is the table as a whole.
    """

class ModelBatches:
    """
    Models that learn from the same rows together, in memory of their own; of the models that they started from, only the tallies are updated.
    """

    def __init__(self, rules: Sequence[Rule], models: Sequence[Model], intercept: bool, threads: int) -> None: ...

    def learn(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, labels: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Learn from the rows of a scanned batch in order; add rows, mistakes and updates to the tallies.
        """

    def write(self, models: Sequence[Model]) -> None:
        """Copy the learned state to these models."""

def learn_each(rules: Sequence[Rule], models: Sequence[Model], values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, intercept: bool, labels: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], block: int, threads: int, inside: int) -> None:
    """
    Run learn_rows for each model, on `threads` threads, each with `inside` threads of its own.
    """

class Coordinates:
    """A batch of rows as coordinates in the span of a support."""

    def __init__(self, coordinates: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], rounding: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], support: int, room: int) -> None: ...

def learn_coordinates(rule: Rule, models: Sequence[Model], known: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], joint: bool, spans: Sequence[Coordinates], labels: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, block: int, threads: int, trace: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None, variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None) -> list[list[int]]:
    """
    Learn from rows as coordinates in one span for all classes, or in one per class, as learn_rows does; return, for each span, the rows that became support. Adds to the tally of the first model.
    """

LARGEST_LOGIT: float = 30.0

LARGEST_SIGNAL: float = 5.0

NO_LIMIT: float = 1e+60

class Calibration:
    """A curve from scores to probabilities, learned online."""

    def __init__(self, n_scores: int, window: float) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]:
        """The curve and its sums; assigning copies the array."""

    @state.setter
    def state(self, value: NDArray[numpy.float64], /) -> None: ...

    @property
    def n_scores(self) -> int:
        """Scores per example: 1 in the binary case, else one per class."""

    @property
    def window(self) -> float:
        """Rows fade as if the stream were never longer than this."""

    @property
    def rows(self) -> int:
        """Number of rows learned from."""

    @property
    def slopes(self) -> tuple[float, float]:
        """The slopes a and b of the two signals."""

    @property
    def limits(self) -> tuple[float, float]:
        """Bounds at which the two signals are clipped."""

    @property
    def constants(self) -> NDArray[numpy.float64]:
        """The constant c of each score."""

    @property
    def shifts(self) -> NDArray[numpy.float64]:
        """The correction of the log-odds at each knot."""

    def learn(self, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], variances: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, probabilities: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None) -> None:
        """
        Learn from rows in order, given their scores before the model learned from them. All or nothing. `probabilities` receives those of each row just before.
        """

    def learn_one(self, scores: float | NDArray[numpy.float64], variance: float, label: int, weight: float = 1.0) -> None:
        """
        Learn from a single row of class `label`; a row whose numbers are not finite is skipped.
        """

    def probability(self, score: float, variance: float) -> float:
        """Return P(+1) of a single row."""

    def probabilities(self, scores: NDArray[numpy.float64], variances: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        """Return P(+1) of each row, or P of each class for each row."""

    def add(self, other: Calibration) -> None:
        """Add another calibration, as if its rows had been interleaved."""

    def thin(self, part: float, rows: float) -> None:
        """
        Multiply the weight of everything learned so far by `part`; set the number of rows.
        """

    def mirror(self) -> None:
        """Swap the classes -1 and +1."""

    def expand(self, binary: Calibration) -> None:
        """Become what a binary calibration says about the first two classes."""

    def arrange(self, other: Calibration, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Copy another calibration, its class i to places[i]."""

    def __getstate__(self) -> object: ...

    def __setstate__(self, arg: object, /) -> None: ...

SUREST_LOGIT: float = 16.0

KEPT_BY_MIXTURES: float = 0.9995

class Mixture:
    """
    The calibrated members of a committee, mixed by an online logistic regression.
    """

    def __init__(self, members: int, n_scores: int, window: float) -> None: ...

    @property
    def state(self) -> NDArray[numpy.float64]:
        """
        Weights, pull, curvature, then the state of each member's calibration; assigning copies the array.
        """

    @state.setter
    def state(self, value: NDArray[numpy.float64], /) -> None: ...

    @property
    def members(self) -> int:
        """The number of members."""

    @property
    def n_scores(self) -> int:
        """Scores per example: 1 in the binary case, else one per class."""

    @property
    def own_entries(self) -> int:
        """Entries of the state before those of the calibrations."""

    def mix(self, scores: Sequence[Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]], variances: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        Write the mixed scores of rows, given the scores of each member and the variance of its largest.
        """

    def learn(self, scores: Sequence[Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]], variances: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """Write the mixed scores of each row in turn, then learn from its class."""

    def weigh(self) -> None:
        """Recompute the weights from pull and curvature."""

def merge_diagonal(rule: str, prior: tuple[Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)], float, float, float, float, Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)] | None], shards: Sequence[tuple[Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)], float, float, float, float, Annotated[NDArray[numpy.float64], dict(device='cpu', writable=False)] | None]], growth: float, least_evidence: float, means: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], variances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """
    Merge means and variances, weight by weight; those that no model has changed keep the bits of the prior.
    """

class ClassifierByOne:
    """
    A classifier of dicts, ready for one example after another. What it cannot do, it leaves to the caller, and changes nothing. Without arguments: all.
    """

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, handle: OneByOne | CommitteeByOne, calibration: Calibration | None, labels: list, order: Sequence[int], numbers: dict, learns: bool, by_score: bool, margin: float | None) -> None:
        """
        `margin`: the least ratio of the probability of the predicted class to others, or None.
        """

    @property
    def is_current(self) -> bool:
        """Whether this handle belongs to the current model."""

    def retire(self) -> None:
        """Leave all work to the caller from now on."""

    def predict(self, x: object, /) -> Any:
        """Return the label of a dict, or None."""

    def probabilities(self, x: object, /) -> dict | None:
        """
        Return the probability of each class by label, in their order, or None.
        """

    def learn(self, x: object, y: object, w: float, /) -> bool:
        """Learn from a dict, and calibrate; return whether it did."""
