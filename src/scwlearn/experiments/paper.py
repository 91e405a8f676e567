"""The numbers of Tables 1 to 3 of the paper, Wang, Zhao and Hoi 2012."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from scwlearn.experiments.study import DataSetRuns

# A standard deviation printed as 0.000 may be as large as this.
_ROUNDED_STD = 0.0005


@dataclass(frozen=True)
class PublishedCell:
    """A cell of Table 3: mean and standard deviation over 20 permutations."""

    mistake_rate: float
    rate_std: float
    updates: float
    updates_std: float
    seconds: float

    def stds_to(self, mistake_rate: float) -> float:
        """Return the difference of another mistake rate from this one, in standard deviations."""
        return (mistake_rate - self.mistake_rate) / max(self.rate_std, _ROUNDED_STD)


#: Table 1: large margin, confidence, non-separable, adaptive margin. PA is the whole family, SCW both forms.
TABLE1: dict[str, tuple[bool, bool, bool, bool]] = {
    "PA": (True, False, True, False),
    "SOP": (False, True, True, False),
    "IELLIP": (False, True, True, False),
    "CW": (True, True, False, True),
    "AROW": (True, True, True, False),
    "NHERD": (True, True, True, False),
    "NAROW": (True, True, True, False),
    "SCW": (True, True, True, True),
}

#: Table 2: rows and features.
TABLE2: dict[str, tuple[int, int]] = {
    "splice": (1000, 60),
    "svmguide3": (1243, 21),
    "synthetic": (5000, 20),
    "synthetic-noise": (5000, 20),
    "mitface": (6977, 361),
    "usps1vsall": (7291, 256),
    "mushrooms": (8124, 112),
    "mnist1vs2": (14867, 784),
    "w7a": (24692, 300),
    "codrna": (59535, 8),
    "ijcnn1": (141691, 22),
    "covtype": (581012, 54),
}

#: Rows of Table 3 and the names of our rules.
RULES = {
    "CW": "cw",
    "NHERD": "nherd",
    "AROW": "arow",
    "NAROW": "narow",
    "SCW-I": "scw1",
    "SCW-II": "scw2",
}


def _read_table3() -> dict[tuple[str, str], PublishedCell]:
    lines = files("scwlearn.experiments").joinpath("paper_table3.csv").read_text(encoding="utf-8").splitlines()
    cells = (line.split(",") for line in lines[1:])
    return {(data, RULES[row]): PublishedCell(*map(float, numbers)) for data, row, *numbers in cells}


#: Table 3 by the names of the data set and of the rule.
TABLE3 = _read_table3()


def published_cell(run: DataSetRuns) -> PublishedCell | None:
    """Return the paper's numbers for a run over all rows with a full covariance; None if it has none.

    A variant is compared with the numbers of the rule that it replaces.
    """
    if run.name not in TABLE2 or run.seen[-1] != TABLE2[run.name][0] or run.covariance != "full":
        return None
    return TABLE3.get((run.name, run.rule.variant_of or run.rule.name))
