"""Records of runs that reports are made of in tests."""

from dataclasses import replace

from scwlearn.data.run_record import Baseline, Bin, Pass, Point, Record, TopWeight

HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><b onmouseover='x'>&amp;\u202e\x00\x1b[31m"


def a_record(**changes):
    """A run with all that a report can show."""
    seen = [1, 10, 100, 1000, 10_000]
    mistakes = [1, 4, 25, 210, 1900]
    updates = [1, 8, 60, 400, 3000]
    losses = [0.69, 0.65, 0.6, 0.52, 0.48]
    record = Record(
        command="scwlearn train a.libsvm --probabilities",
        began="2026-03-01T09:30:00+00:00",
        version="1.2.3",
        sources=["a.libsvm"],
        algorithm="scw1",
        parameters={"C": 1.0, "eta": 0.9},
        settings={"covariance": "diagonal", "shuffle_buffer": 0, "class_weight": None, "intercept": True},
        classes=["no", "yes"],
        n_features=123,
        curve=[
            Point(*values, nonzero=7, seconds=0.25 * (i + 1), log_loss=loss)
            for i, (values, loss) in enumerate(zip(zip(seen, mistakes, updates, strict=True), losses, strict=True))
        ],
        skipped=3,
        epochs=2,
        passes=[Pass(5000, 1100, 1700), Pass(5000, 800, 1300)],
        baseline=Baseline("no", 0.4),
        reliability=[Bin(4000, 0.6, 2200), Bin(6000, 0.9, 5700)],
        confusion=[[5000, 1000], [900, 3100]],
        top_weights={"yes": [TopWeight("price", 2.0, 0.25), TopWeight("colour=red", -1.0, 0.5)]},
        holdout={"count": 500, "error": 0.125, "log_loss": 0.31},
        holdout_baseline=Baseline("yes", 0.375),
    )
    return replace(record, **changes)


def of_classes(number, **changes):
    """A run with many classes, each sometimes confused with the next."""
    labels = [f"class {i}" for i in range(number)]
    confusion = [[90 if i == j else 10 * (j == (i + 1) % number) for j in range(number)] for i in range(number)]
    tops = {label: [TopWeight(f"{label} word {i}", 1.0 - 0.1 * i, 0.1) for i in range(10)] for label in labels}
    return a_record(classes=labels, confusion=confusion, top_weights=tops, **changes)
