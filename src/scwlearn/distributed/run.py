"""`DistributedRun`: what has happened so far in the rounds of a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.data.run_record import Round
from scwlearn.distributed.runner import Runner
from scwlearn.distributed.tasks import Learned, Report, Task

#: Called with the report of each task.
OnReport = Callable[[Report], None]


@dataclass
class DistributedRun:
    """A run of a plan: the model so far, and what its rounds report.

    Parameters
    ----------
    runner : Runner
        Where the tasks run.
    model : bytes
        The packed model to start from.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge.
    on_report : callable, optional
        Called with the report of each task when it has ended.
    """

    runner: Runner
    model: bytes
    rule: str = "auto"
    on_report: OnReport = lambda report: None
    reports: list[Report] = field(default_factory=list, init=False)
    rounds: list[Round] = field(default_factory=list, init=False)
    #: Seconds since the beginning, after each round.
    seconds: list[float] = field(default_factory=list, init=False)
    _began: float = field(default_factory=time.perf_counter, init=False)

    def run_rounds(self, rounds: Iterable[Sequence[Task]]) -> None:
        """Run rounds, each from the merged model of the one before; after an error, the last merged model is kept."""
        with closing(self.runner.run_rounds(self.model, rounds, self.on_report, rule=self.rule)) as results:
            try:
                for learned in results:
                    self._take(learned)
            finally:
                # A runner may keep it elsewhere.
                self.model = bytes(self.model)

    def _take(self, learned: Learned) -> None:
        """Go on with the merged model of a round."""
        reports = sorted(learned.reports, key=lambda report: report.place.part)
        self.reports += reports
        place, sent = reports[0].place, sum(report.sent for report in reports)
        self.rounds.append(Round(place.epoch, place.round, len(self.model), sent, learned.merging))
        self.seconds.append(time.perf_counter() - self._began)
        self.model = learned.model

    def reports_of(self, one: Round) -> list[Report]:
        """Return the reports of a round."""
        return [each for each in self.reports if (each.place.epoch, each.place.round) == (one.epoch, one.round)]

    @property
    def seen(self) -> int:
        """Examples learned from."""
        return sum(report.seen for report in self.reports)

    def count_skipped(self, skipped: SkippedRecords) -> None:
        """Count what the tasks have skipped in the first pass."""
        for report in (each for each in self.reports if each.place.epoch == 1):
            skipped.count += report.skipped
            skipped.unlabelled += report.unlabelled
            skipped.first += [DataError(**error) for error in report.first_errors][: skipped.keep - len(skipped.first)]

    def check_seen(self, names: Sequence[str]) -> None:
        """Raise a ValueError if there was nothing to learn from."""
        if not self.seen:
            left_out = any(report.skipped or report.unlabelled for report in self.reports)
            why = "" if left_out else ", as all have the weight 0"
            why = next((f"; {report.error}" for report in self.reports if report.error), why)
            raise ValueError(f"{', '.join(names)}: no examples to learn from{why}")
