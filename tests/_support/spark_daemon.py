"""Spark's process that forks Python workers, with scwlearn imported: a worker that is replaced starts at once."""

from pyspark import daemon

import scwlearn.distributed.spark
import scwlearn.estimators  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
