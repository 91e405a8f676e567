"""Sets that the paper does not have: sparse text, a stream that drifts, and small ones that need no files."""

from __future__ import annotations

from scwlearn.datasets.declare import NamedSet, Part
from scwlearn.datasets.embedded import breast_cancer, digits_even_or_odd
from scwlearn.datasets.paper_sets import NOT_STATED, UCI
from scwlearn.datasets.prepare import unit_log_counts
from scwlearn.datasets.sources import MEGABYTE, github, libsvm_page, libsvm_text, table

_NEWS = Part(
    "20news/20news.train.libsvm.xz",
    "d90fdee06cb09c205f915baa7500e22f2c4928dfdfc1e78648f87bb302b1c36b",
    by_hand=(
        "20 newsgroups, bydate, training part: each message without its header (up to the first blank line), counts "
        "of the words [a-z]{2,} that occur in at least 2 messages, in alphabetical order; labels 1 to 20 are the "
        "groups in alphabetical order. Other ways to cut words make another set"
    ),
)


def _news(name: str, title: str, positive: int, negative: int, *, rows: int, positives: int) -> NamedSet:
    return NamedSet(
        name=name,
        title=title,
        group="extra",
        rows=rows,
        features=59051,
        positives=positives,
        parts=(_NEWS,),
        positive=(float(positive),),
        negative=(float(negative),),
        prepare=unit_log_counts,
        form=(
            "one of the pairs of groups of the papers on confidence-weighted learning; log(1 + count), each row of "
            "length 1, so that long messages do not outweigh short ones; the width is that of all 20 groups"
        ),
        dense=False,
        licence=NOT_STATED,
        cite="Lang 1995. Newsweeder: learning to filter netnews. ICML",
    )


EXTRA_SETS = (
    NamedSet(
        name="a9a",
        title="a9a",
        group="extra",
        rows=32561,
        features=123,
        positives=7841,
        parts=(
            Part(
                "a9a/a9a.libsvm.xz",
                "9c664897da91b385bbcdd4609a040982e62d12d57901c1c05c7d58834de4b604",
                (
                    libsvm_page("binary", "a9a", limit=8 * MEGABYTE),
                    github(
                        "LIBOL/KOL",
                        "ef8655a256118d2c33e886059db631933adf4d21",
                        "sample_dataset/a9a_train",
                        libsvm_text(),
                        limit=8 * MEGABYTE,
                    ),
                ),
            ),
        ),
        form="as distributed: binary, nothing to scale; the training part",
        dense=False,
        licence=UCI,
        cite="Becker, Kohavi 1996. Adult. UCI Machine Learning Repository (form: Platt 1998)",
    ),
    _news("news-pc-mac", "20 newsgroups, PC and Mac hardware", 4, 5, rows=1168, positives=590),
    _news("news-electronics-med", "20 newsgroups, electronics and medicine", 13, 14, rows=1185, positives=591),
    _news("news-guns-mideast", "20 newsgroups, guns and Mideast", 17, 18, rows=1110, positives=546),
    NamedSet(
        name="elec2",
        title="Elec2",
        group="extra",
        rows=45312,
        features=6,
        positives=19237,
        parts=(
            Part(
                "elec2/elec2.libsvm.xz",
                "b78eaadb810ec87d84b1c841c8f7b691974de59ed975899b6e83d8825ef4802d",
                (
                    github(
                        "online-ml/river",
                        "2cf9e49a1f849100e1b55e3e474e086ddfa6fff2",
                        "src/skmultiflow/data/datasets/elec.csv",
                        # Labels 1 and 0; the values have six decimals.
                        table(label_column=-1, heading=True, decimals=6, relabel=lambda up: 2 * up - 1),
                        limit=16 * MEGABYTE,
                    ),
                ),
            ),
        ),
        form="as distributed: scaled to [0, 1] by its makers. A time series that drifts, so its order is kept",
        shuffle=False,
        licence=NOT_STATED,
        cite="Harries 1999. Splice-2 comparative evaluation: electricity pricing. UNSW",
    ),
)

EMBEDDED_SETS = (
    NamedSet(
        name="breast-cancer",
        title="breast cancer",
        group="embedded",
        rows=569,
        features=30,
        positives=357,
        make=breast_cancer,
        form="from scikit-learn; each column standardised, because they range from thousandths to thousands",
        licence=UCI,
        cite="Wolberg, Mangasarian, Street, Street 1995. Breast cancer Wisconsin (diagnostic). UCI",
    ),
    NamedSet(
        name="digits",
        title="digits, even against odd",
        group="embedded",
        rows=1797,
        features=64,
        positives=891,
        make=digits_even_or_odd,
        form="from scikit-learn; each column standardised, because pixels at the edge vary little",
        licence=UCI,
        cite="Alpaydin, Kaynak 1998. Optical recognition of handwritten digits. UCI",
    ),
)
