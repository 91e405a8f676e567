"""`Runner`: what carries out the rounds of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence

from scwlearn.distributed.tasks import Learned, Report, Task


class Runner(ABC):
    """Carries out the rounds of a plan: processes of this machine, or a cluster.

    Examples
    --------
    A runner that prints what it does:

    >>> from scwlearn.distributed import Runner, Serial
    >>> class Verbose(Runner):
    ...     def run_round(self, start, tasks, on_report, *, rule="auto"):
    ...         print(f"{tasks[0].place}: {len(tasks)} tasks")
    ...         return Serial().run_round(start, tasks, on_report, rule=rule)
    """

    @abstractmethod
    def run_round(
        self, start: bytes, tasks: Sequence[Task], on_report: Callable[[Report], None], *, rule: str = "auto"
    ) -> Learned:
        """Run tasks that go on from the same model, and merge what they learned by the tree of the plan.

        Parameters
        ----------
        start : bytes
            The packed model that all go on from.
        tasks : sequence of Task
            What to learn, in parallel.
        on_report : callable
            Called with the report of each task when it has ended, in any order.
        rule : str
            How to merge.

        Returns
        -------
        Learned
            The merged model, whole.
        """

    def run_rounds(
        self, start: bytes, rounds: Iterable[Sequence[Task]], on_report: Callable[[Report], None], *, rule: str = "auto"
    ) -> Generator[Learned, None, None]:
        """Run rounds, each of which goes on from the merged model of the one before; yield the result of each.

        The model of a result may be anything with `len` that `bytes` turns into the packed model, until this generator
        is closed.
        """
        for tasks in rounds:
            learned = self.run_round(start, tasks, on_report, rule=rule)
            start = learned.model
            yield learned
