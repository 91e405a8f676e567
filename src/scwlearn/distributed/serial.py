"""This process as the only worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scwlearn.distributed.runner import Runner
from scwlearn.distributed.tasks import Learned, Report, Task, merge_steps


class Serial(Runner):
    """Runs the tasks of a plan one after the other in this process: the plainest runner, to look at and to debug.

    Examples
    --------
    >>> from scwlearn.distributed import Serial
    >>> Serial()
    Serial()
    """

    def __repr__(self) -> str:
        return "Serial()"

    def run_round(
        self, start: bytes, tasks: Sequence[Task], on_report: Callable[[Report], None], *, rule: str = "auto"
    ) -> Learned:
        """Run tasks that go on from the same model, and merge what they learned; see `Runner`."""
        steps, learned = merge_steps(tasks, rule), []
        for task in tasks:
            learned.append(task(start))
            for report in learned[-1].reports:
                on_report(report)
        for level in steps:
            learned = [merge(start, [learned[i] for i in group]) for group, merge in level]
        return learned[0]
