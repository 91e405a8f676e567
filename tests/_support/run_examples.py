"""Small data sets as text, for commands and runs."""

import numpy as np


def libsvm_text(count=600, width=12, classes=(-1, 1), seed=0, noise=0.1):
    """Return sparse rows whose class has the largest product with hidden weights, except for some noise."""
    random = np.random.default_rng(seed)
    hidden = np.random.default_rng(1).normal(size=(len(classes), width))
    lines = []
    for _ in range(count):
        columns = np.sort(random.choice(width, random.integers(2, 7), replace=False))
        values = random.normal(size=len(columns)).round(3)
        number = int((hidden[:, columns] @ values).argmax())
        if random.random() < noise:
            number = int(random.integers(len(classes)))
        pairs = " ".join(f"{j + 1}:{v}" for j, v in zip(columns.tolist(), values.tolist(), strict=True))
        lines.append(f"{classes[number]} {pairs}\n")
    return "".join(lines)


def vw_text(**how):
    """Return the same with named features."""
    return "".join(
        "{} |x {}\n".format(*line.rstrip("\n").split(" ", 1)) for line in libsvm_text(**how).splitlines(keepends=True)
    )
