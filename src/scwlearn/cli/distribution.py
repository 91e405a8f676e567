"""Training on several workers: the options of `train` for it, and the run with its progress."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.messages import error_message, is_given
from scwlearn.cli.options import count_option, option, section, usage_error

if TYPE_CHECKING:
    from scwlearn.cli.input import Input
    from scwlearn.data.run_record import Round
    from scwlearn.distributed.run import DistributedRun
    from scwlearn.distributed.runner import Runner
    from scwlearn.distributed.training import PreparedTraining
    from scwlearn.runs.config import ModelConfig
    from scwlearn.runs.trained_model import TrainedModel


class _Master(click.ParamType):  # type: ignore[type-arg]
    """The master URL of a Spark cluster, or nothing."""

    name = "[MASTER]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what follows --spark and is something else."""
        if value and not re.match(r"local(\[.*\]|-cluster\[.*\])?$|yarn$|(spark|k8s|mesos|sc)://", value):
            self.fail(
                f"{value!r} is no master such as local[4], yarn, spark://HOST:7077 or sc://HOST; "
                "if it is the data, put --spark last",
                param,
                ctx,
            )
        return value


#: Options for training on several workers.
distribution_options = section(
    "Workers",
    count_option("--workers", text="Train in N processes. The model does not depend on N."),
    option("--dask", metavar="ADDRESS", help="Train on the Dask cluster whose scheduler has this address."),
    option(
        "--spark",
        type=_Master(),
        is_flag=False,
        flag_value="",
        help="Train on Spark at this master URL. Under spark-submit, give no URL, and put --spark last.",
    ),
    count_option(
        "--parts",
        text="Split the data into N parts, to train on in parallel. The model depends on N.  [default: 1 per 256 MB]",
    ),
    count_option("--rounds", text="Merge all parts N times in a pass.  [default: 4]"),
)
# Options that need one stream, and what to do instead.
_ONE_STREAM = {
    "--holdout": ("holdout", "; to measure the error on other data, use scwlearn evaluate"),
    "--save-every": ("save_every", ""),
    "--jobs": ("jobs", ""),
}


def is_distributed(given: dict[str, Any]) -> bool:
    """Return whether the user wants workers; raise a usage error for options that do not go together."""
    chosen = [name for name in ("workers", "dask", "spark") if given[name] is not None]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    if not chosen:
        for name in ("parts", "rounds"):
            if is_given(name):
                raise click.UsageError(f"--{name} needs --workers, --dask or --spark")
        return False
    for name, (parameter, instead) in _ONE_STREAM.items():
        if is_given(parameter):
            raise click.UsageError(f"{name} needs one stream; drop it, or drop --{chosen[0]}{instead}")
    from scwlearn.distributed.plan import Plan

    for name in ("parts", "rounds"):
        if given[name] is not None:
            with usage_error(f"--{name}"):
                Plan(**{"parts": 1, name: given[name]})
    return True


def train_distributed(given: dict[str, Any], data: Input, model: ModelConfig | TrainedModel) -> TrainedModel:
    """Train on the workers that the user asked for; print rounds, warnings and what was skipped."""
    from scwlearn.distributed.training import FileTraining

    terminal = data.terminal
    names = ("parts", "rounds", "epochs", "shuffle_buffer", "seed")
    training = FileTraining(
        data.sources,
        model,
        data.options,
        data.reading,
        probabilities=given["probabilities"] or given["report"] is not None,
        **{name: given[name] for name in names},
    )
    prepared = training.prepare()
    for about in prepared.schema.notes:
        terminal.note(f"note: {error_message(about)}")
    with _runner(given) as runner, terminal.progress(prepared.size, "training") as progress:
        run = prepared.run(runner, lambda report: progress.advance(report.size, str(report.place)))
    run.check_seen(data.names)
    for line in _round_lines(run):
        terminal.note(line)
    terminal.warn(prepared.warnings(run))
    run.count_skipped(data.skipped)
    return _trained(prepared, run, given, data)


@contextmanager
def _runner(given: dict[str, Any]) -> Iterator[Runner]:
    if given["workers"] is not None:
        from scwlearn.distributed import Processes

        with Processes(given["workers"]) as processes:
            yield processes
    elif given["dask"] is not None:
        with _needed_by("--dask"):
            from distributed import Client

            from scwlearn.distributed.dask import DaskRunner
        with closing(Client(given["dask"], set_as_default=False)) as client:
            yield DaskRunner(client)
    else:
        with _needed_by("--spark"):
            from pyspark.sql import SparkSession

            from scwlearn.distributed.spark import SparkRunner
        builder, master = SparkSession.builder.appName("scwlearn train"), given["spark"]
        if master:
            builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
        yield SparkRunner(builder.getOrCreate())


@contextmanager
def _needed_by(option: str) -> Iterator[None]:
    """Say which packages an option needs if they are missing."""
    try:
        yield
    except ImportError as error:
        extra = option.removeprefix("--")
        raise click.ClickException(f'{option} needs {error.name}: pip install "scwlearn[{extra}]"') from None


def _round_lines(run: DistributedRun) -> list[str]:
    """Return the table of rounds."""
    form = "{:>7}{:>7}{:>12}{:>9}{:>12}{:>9}{:>9}"
    lines = [form.format("round", "parts", "examples", "error", "sent", "learning", "merging")]
    for one in run.rounds:
        own = run.reports_of(one)
        seen = sum(report.seen for report in own)
        rate = f"{sum(report.mistakes for report in own) / seen:.4f}" if seen else ""
        slowest = max((report.seconds for report in own), default=0.0)
        cells = (_number(one), len(own), seen, rate, f"{one.sent_bytes / 1e6:.1f} MB", f"{slowest:.2f} s")
        lines.append(form.format(*cells, f"{one.merge_seconds:.2f} s"))
    return lines


def _number(one: Round) -> str:
    return "warm-up" if not one.round else str(one.round) if one.epoch == 1 else f"{one.epoch}.{one.round}"


def _trained(prepared: PreparedTraining, run: DistributedRun, given: dict[str, Any], data: Input) -> TrainedModel:
    settings = {name: given[name] for name in ("seed", "shuffle_buffer")}
    return prepared.trained_model(run, **data.provenance, settings=settings)
