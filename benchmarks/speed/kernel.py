"""Kernel estimators, compared with the recursion of Lemma 1 in NumPy."""

from __future__ import annotations

from typing import Any

from scwlearn import KernelSCW1
from speed import data, textbook
from speed.harness import Bar, Group, Race, Scale, Side, comparison, times_faster

WORK = 'KernelSCW1(kernel="rbf", shuffle=False).fit, dense'
AGAINST = "textbook NumPy recursion"
C, ETA = 1.0, 0.9


def race(scale: Scale, gamma: float) -> Race:
    """Set up one pass each; both must make the same mistakes and updates."""
    rows = data.scanned_digits().first(scale.of(7291, 500))

    def learn() -> Any:
        made = KernelSCW1(kernel="rbf", gamma=gamma, C=C, eta=ETA, fit_intercept=False, shuffle=False)
        return made.fit(rows.x, rows.y)

    ours = Side(
        "scwlearn",
        learn,
        lambda model: {"mistakes": float(model.n_mistakes_), "updates": float(model.n_updates_)},
    )
    peer = Side(
        AGAINST,
        lambda: textbook.kernel_scw1(rows.x, rows.y, C=C, eta=ETA, gamma=gamma),
        lambda counts: dict(zip(("mistakes", "updates"), counts, strict=True)),
    )
    return Race(f"{rows}, gamma {gamma}", ours, peer)


@comparison(WORK, against=AGAINST, target=times_faster(10), chart=Bar(Group.FULL, "KernelSCW1, RBF", "NumPy recursion"))
def kernel_textbook(scale: Scale) -> Race:
    """The width with the smallest test error (docs/kernels.md): a third of the rows cause an update."""
    return race(scale, 0.02)


@comparison(WORK, against=AGAINST)
def kernel_textbook_few_updates(scale: Scale) -> Race:
    """A wider kernel: one row in nine causes an update, so kernel evaluations dominate."""
    return race(scale, 0.005)
