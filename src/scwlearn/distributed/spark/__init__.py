"""Training on Apache Spark: a runner for plans on files, an estimator for pipelines, and streaming queries.

Only the DataFrame API is used, so everything works through Spark Connect, too.
"""

from __future__ import annotations

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}; install it with: pip install 'scwlearn[spark]'", name=error.name) from error

from scwlearn.distributed.spark.classifier import SparkClassificationModel, SparkClassifier
from scwlearn.distributed.spark.runner import SparkRunner
from scwlearn.distributed.spark.streaming import learn_batches

__all__ = ["SparkClassificationModel", "SparkClassifier", "SparkRunner", "learn_batches"]
