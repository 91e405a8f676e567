"""The numbers of Tables 1 to 3 of the paper, Wang, Zhao and Hoi 2012."""

from __future__ import annotations

from dataclasses import dataclass

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

# Mistake rate and its standard deviation, updates and their standard deviation, seconds.
_TABLE3 = """
svmguide3        CW      0.294 0.011    702.6    13.5    0.038
svmguide3        NHERD   0.224 0.012   1170.3    21.6    0.052
svmguide3        AROW    0.218 0.005   1174.7    15.7    0.045
svmguide3        NAROW   0.308 0.096   1229.7     8.1    0.051
svmguide3        SCW-I   0.209 0.007    540.4    13.2    0.033
svmguide3        SCW-II  0.213 0.008    954.2    50.9    0.044
codrna           CW      0.157 0.040   9278.9    62.8    1.083
codrna           NHERD   0.089 0.032  32232.9  8679.4    3.086
codrna           AROW    0.066 0.000  26055.1   328.0    2.041
codrna           NAROW   0.182 0.054  54557.1  4935.7    6.979
codrna           SCW-I   0.065 0.000   7328.8   326.1    0.952
codrna           SCW-II  0.066 0.000  12070.3   438.0    1.183
splice           CW      0.271 0.009    555.4     9.6    0.066
splice           NHERD   0.245 0.010    805.6    22.3    0.092
splice           AROW    0.241 0.006    741.5    24.9    0.077
splice           NAROW   0.269 0.015    717.9    35.2    0.085
splice           SCW-I   0.229 0.006    541.1     8.9    0.065
splice           SCW-II  0.240 0.010    479.8    12.4    0.050
usps1vsall       CW      0.013 0.001    493.7    21.4    2.723
usps1vsall       NHERD   0.014 0.001   2421.5   225.4   11.555
usps1vsall       AROW    0.012 0.001   1449.0   132.9    7.004
usps1vsall       NAROW   0.018 0.003   2153.8   251.0   10.293
usps1vsall       SCW-I   0.012 0.001    385.5     9.7    2.221
usps1vsall       SCW-II  0.011 0.001    385.0    10.1    2.221
ijcnn1           CW      0.093 0.001  30678.0   146.9    4.844
ijcnn1           NHERD   0.084 0.001  85104.4  4283.4   25.014
ijcnn1           AROW    0.081 0.000  73082.1  1272.3   16.959
ijcnn1           NAROW   0.099 0.020 105937.2  8231.1   39.643
ijcnn1           SCW-I   0.058 0.002  10561.5   704.5    2.450
ijcnn1           SCW-II  0.072 0.003  21792.1  3840.6    3.823
w7a              CW      0.104 0.000   2432.2    48.9   17.166
w7a              NHERD   0.101 0.001  12348.4   378.5   79.163
w7a              AROW    0.099 0.001  10233.0   246.5   65.264
w7a              NAROW   0.108 0.001  23666.6   179.0  150.379
w7a              SCW-I   0.097 0.000   4118.6    23.7   14.852
w7a              SCW-II  0.099 0.001   5634.8    78.2   24.557
mnist1vs2        CW      0.012 0.000    856.8    26.7   67.803
mnist1vs2        NHERD   0.108 0.010   5258.7   415.0  335.360
mnist1vs2        AROW    0.036 0.001   4519.0   241.0  288.433
mnist1vs2        NAROW   0.038 0.002   5819.1   356.2  372.040
mnist1vs2        SCW-I   0.011 0.001    868.3    22.8   68.507
mnist1vs2        SCW-II  0.011 0.001    742.9    34.0   60.901
mitface          CW      0.028 0.001    835.8    19.4    8.944
mitface          NHERD   0.025 0.001   3316.7   201.5   33.258
mitface          AROW    0.027 0.001   1884.8   134.4   19.037
mitface          NAROW   0.031 0.002   2389.8   215.4   24.185
mitface          SCW-I   0.025 0.001    756.1    14.6    8.131
mitface          SCW-II  0.024 0.001    774.0    20.2    8.320
mushrooms        CW      0.002 0.000    315.8    18.0    0.289
mushrooms        NHERD   0.002 0.001   3724.4   448.3    1.245
mushrooms        AROW    0.002 0.000   1815.0   185.5    0.662
mushrooms        NAROW   0.002 0.000   3340.8   386.0    1.138
mushrooms        SCW-I   0.002 0.000    327.6    21.1    0.288
mushrooms        SCW-II  0.002 0.000    152.7     5.7    0.241
covtype          CW      0.405 0.001 389870.8  2278.9  879.788
covtype          NHERD   0.259 0.002 521225.6 12104.9 1166.939
covtype          AROW    0.243 0.000 531187.0   455.4 1193.212
covtype          NAROW   0.367 0.009 546704.0  8814.8 1269.775
covtype          SCW-I   0.233 0.000 238415.6  1917.1  264.846
covtype          SCW-II  0.239 0.000 451193.3  3783.0  881.011
synthetic        CW      0.017 0.001    262.9     6.7    0.071
synthetic        NHERD   0.120 0.016   3202.9   292.6    0.134
synthetic        AROW    0.026 0.003   2128.0   167.3    0.084
synthetic        NAROW   0.101 0.019   3302.0   315.0    0.125
synthetic        SCW-I   0.018 0.001    317.9     8.6    0.071
synthetic        SCW-II  0.020 0.001    326.0     6.6    0.071
synthetic-noise  CW      0.293 0.005   2811.1    33.9    0.129
synthetic-noise  NHERD   0.208 0.017   4114.6   150.7    0.156
synthetic-noise  AROW    0.133 0.003   4122.8    60.7    0.136
synthetic-noise  NAROW   0.236 0.024   4242.8   171.8    0.154
synthetic-noise  SCW-I   0.135 0.002   1373.1    38.9    0.094
synthetic-noise  SCW-II  0.145 0.005   2138.9   211.7    0.111
"""


def _read(lines: str) -> dict[tuple[str, str], PublishedCell]:
    cells = {}
    for line in lines.strip().splitlines():
        data, row, *numbers = line.split()
        cells[data, RULES[row]] = PublishedCell(*map(float, numbers))
    return cells


#: Table 3 by the names of the data set and of the rule.
TABLE3 = _read(_TABLE3)


def published_cell(run: DataSetRuns) -> PublishedCell | None:
    """Return the paper's numbers for a run over all rows with a full covariance; None if it has none.

    A variant is compared with the numbers of the rule that it replaces.
    """
    if run.name not in TABLE2 or run.seen[-1] != TABLE2[run.name][0] or run.covariance != "full":
        return None
    return TABLE3.get((run.name, run.rule.variant_of or run.rule.name))
