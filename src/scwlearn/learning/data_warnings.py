"""The category and the words of warnings about training data, for Python and the command line."""

from __future__ import annotations

#: What sorted labels do, whatever the remedy.
SORTED_LABELS = (
    "labels come in long runs, as in a sorted file: do not trust the error, and expect the model to forget the classes "
    "that it saw first"
)
#: To be filled with the sizes of features.
UNEVEN_FEATURES = "features differ by orders of magnitude ({}), which only a full covariance makes up for"
#: To be filled with the number of labels, and with how many examples have them.
MANY_LABELS = "{:,} distinct labels in {}; is this a regression target?"
EMPTY_EXAMPLES = "most examples have no feature that is not 0, so that they teach only the intercept"

# More classes than this, a new one with every tenth example, are probably a regression target.
_MANY_CLASSES = 50


def has_many_labels(labels: int, examples: int) -> bool:
    """Return whether the number of distinct labels suggests a regression target."""
    return labels > max(_MANY_CLASSES, examples / 10)


class DataWarning(UserWarning):
    """Training data from which a model is unlikely to learn well.

    The warning comes after learning. If you turn it into an error, the model has learned nevertheless.

    Examples
    --------
    >>> import warnings
    >>> from scwlearn.learning.data_warnings import DataWarning
    >>> warnings.simplefilter("ignore", DataWarning)
    """
