"""How the files of the first format were made, with scwlearn 0.1.0: python tests/models/make.py

They are not to be made again: that they can still be read is what tests/test_saving_first_format.py sees to. A later
format gets files of its own, beside these.
"""

from pathlib import Path

import scwlearn

HERE = Path(__file__).parent

# Nothing here is drawn at random, so that the numbers in the test can be found again.
ROWS = [[((7 * i + 3 * j) % 11 - 5) / 4 for j in range(4)] for i in range(40)]
TWO = ["yes" if row[0] + row[1] > row[2] else "no" for row in ROWS]
SEVERAL = [max(range(3), key=lambda j, row=row: row[j]) * 10 for row in ROWS]
EXAMPLES = [{"size": row[0], "place": f"p{i % 3}", "words": ["a", f"w{i % 4}"]} for i, row in enumerate(ROWS)]


def make() -> dict[str, object]:
    """The models by the names of their files."""
    stream = scwlearn.StreamClassifier("scw1", scale=True, max_features=6, class_weight={"yes": 2.0})
    stream.learn_many(EXAMPLES, TWO)
    return {
        "two_classes": scwlearn.SCW1(covariance="diagonal", C=0.25).fit(ROWS, TWO),
        "several_classes": scwlearn.AROW(scale=True, class_weight="balanced").fit(ROWS, SEVERAL),
        "kernel": scwlearn.KernelSCW1(budget=6, gamma=0.5).fit(ROWS, SEVERAL),
        "stream": stream,
    }


if __name__ == "__main__":
    for name, model in make().items():
        scwlearn.save(model, HERE / f"{name}.format1.model", notes={"made by": "tests/models/make.py"})
