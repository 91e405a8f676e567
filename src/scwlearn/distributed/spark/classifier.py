"""An estimator for pipelines of Spark ML, and its model."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasInputCols,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql.types import ArrayType, BooleanType, DoubleType, StringType, StructField, StructType

from scwlearn._util.checks import check_int
from scwlearn.distributed.plan import ROUNDS
from scwlearn.distributed.spark.columns import Columns, column
from scwlearn.distributed.spark.frames import learn_frame
from scwlearn.files import SavedModel, read, write
from scwlearn.files.transport import pack, unpack
from scwlearn.learning.classifier import Classifier

#: The file of the local model in the directory that Spark ML writes.
MODEL_FILE = "model.scwlearn"


class _Saved(MLWritable, MLReadable):  # type: ignore[misc]
    """What is saved as Spark ML's metadata and a model file."""

    _part_to_save = "local()"
    _packed: bytes

    def write(self) -> MLWriter:
        """Return the writer: ``write().overwrite().save(path)``."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return the reader: ``read().load(path)``, or ``load(path)`` for short."""
        return _Reader(cls)

    @classmethod
    def _of(cls, packed: bytes) -> Any:
        """Return an object for a packed model."""
        made = cls.__new__(cls)
        _Params.__init__(made)
        made._packed = packed
        return made

    def local(self) -> Any:
        """Return a copy of the model as an ordinary estimator or `StreamClassifier`, which needs no Spark."""
        return unpack(self._packed).to_model()


class _Params(
    HasFeaturesCol,  # type: ignore[misc]
    HasInputCols,  # type: ignore[misc]
    HasLabelCol,  # type: ignore[misc]
    HasWeightCol,  # type: ignore[misc]
    HasPredictionCol,  # type: ignore[misc]
    HasProbabilityCol,  # type: ignore[misc]
    HasRawPredictionCol,  # type: ignore[misc]
):
    """The columns, with the names that all classifiers of Spark ML use."""

    _packed: bytes

    def setFeaturesCol(self, value: str) -> Any:
        """Set the column of vectors or arrays."""
        return self._set(featuresCol=value)

    def setInputCols(self, value: list[str]) -> Any:
        """Set the columns that a `StreamClassifier` reads."""
        return self._set(inputCols=value)

    def setLabelCol(self, value: str) -> Any:
        """Set the column of labels."""
        return self._set(labelCol=value)

    def setWeightCol(self, value: str) -> Any:
        """Set the column of weights."""
        return self._set(weightCol=value)

    def setPredictionCol(self, value: str) -> Any:
        """Set the column for the predicted labels; empty for none."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Any:
        """Set the column for the probabilities; empty for none."""
        return self._set(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Any:
        """Set the column for the scores; empty for none."""
        return self._set(rawPredictionCol=value)

    def _weight(self) -> str:
        return self.getWeightCol() if self.isDefined(self.weightCol) else ""

    def _columns(self, names: list[str]) -> Columns:
        """Return the columns to learn from, of a DataFrame with these."""
        label, weight = self.getLabelCol(), self._weight()
        given = self.getInputCols() if self.isDefined(self.inputCols) else []
        if unpack(self._packed).kind != "stream":
            if given:
                raise ValueError("inputCols are for a StreamClassifier; an estimator takes one column, featuresCol")
            return Columns(self.getFeaturesCol(), label=label, weight=weight)
        inputs = given or [name for name in names if name not in (label, weight)]
        return Columns(inputs=tuple(inputs), label=label, weight=weight)


class SparkClassifier(_Params, _Saved, Estimator):  # type: ignore[misc]
    """Trains a model of scwlearn on a DataFrame, as a stage of a Spark ML pipeline.

    Each partition is a part of the data, in the order of its rows. In each round, workers learn from all partitions in
    parallel, starting from the same model, and their models are merged. The result depends on the rows and their
    partitions, and on nothing else: not on the number of executors, and not on how many of them died.

    Parameters
    ----------
    model : estimator or StreamClassifier
        The local model, such as ``SCW1(C=0.5)``. It is not changed. One that has learned goes on from there. An
        estimator takes `featuresCol`; a `StreamClassifier` reads `inputCols` as records: numbers, strings and dates.
        Each example is learned once, in the order of the rows, as by `partial_fit`.
    rounds : int
        How many times the models of all partitions are merged; 4 by default.
    featuresCol : str
        A column of vectors, dense or sparse, or of arrays of numbers.
    inputCols : list of str, optional
        The columns that a `StreamClassifier` reads; by default, all but the label and the weight.
    labelCol : str
        A column of strings, bools, integers or doubles.
    weightCol : str, optional
        A column of weights.
    predictionCol, probabilityCol, rawPredictionCol : str
        The columns that the model adds; an empty name leaves one out.

    Examples
    --------
    >>> from scwlearn import SCW1
    >>> from scwlearn.distributed.spark import SparkClassifier
    >>> classifier = SparkClassifier(SCW1(C=0.5), rounds=4, labelCol="survived")
    >>> classifier.getLabelCol(), classifier.getRounds()
    ('survived', 4)

    With a DataFrame of Spark:

    >>> predictions = classifier.fit(train).transform(test)  # doctest: +SKIP
    """

    rounds: Any = Param(
        Params._dummy(), "rounds", "how many times all models are merged", typeConverter=TypeConverters.toInt
    )

    def __init__(
        self,
        model: Any,
        *,
        rounds: int = ROUNDS,
        featuresCol: str = "features",
        inputCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
    ) -> None:
        super().__init__()
        self._packed = pack(_checked(model))
        self._set(featuresCol=featuresCol, labelCol=labelCol)
        self._set(predictionCol=predictionCol, probabilityCol=probabilityCol, rawPredictionCol=rawPredictionCol)
        # Spark ML has no None: a parameter without a value is not set.
        if inputCols is not None:
            self.setInputCols(inputCols)
        if weightCol is not None:
            self.setWeightCol(weightCol)
        self.setRounds(rounds)

    def setRounds(self, value: int) -> Any:
        """Set how many times the models of all partitions are merged."""
        return self._set(rounds=check_int("rounds", value))

    def getRounds(self) -> int:
        """Return how many times the models of all partitions are merged."""
        return int(self.getOrDefault(self.rounds))

    def _fit(self, dataset: Any) -> SparkClassificationModel:
        columns = self._columns(dataset.columns)
        packed = learn_frame(dataset, self._packed, columns, rounds=self.getRounds())
        if packed is self._packed:
            raise ValueError("the DataFrame has no rows to learn from")
        model = self._copyValues(SparkClassificationModel._of(packed))
        if columns.inputs:
            # The frame to predict may have more columns.
            model.setInputCols([*columns.inputs])
        fitted: SparkClassificationModel = model
        return fitted


def _checked(model: Any) -> SavedModel:
    """Return the contents of a model that can be trained on Spark."""
    saved = SavedModel.from_model(model)
    if saved.kind not in ("estimator", "stream") or "kernel" in saved.settings:
        name = type(model).__name__
        raise TypeError(
            f"model must be an estimator without a kernel, such as SCW1(), or a StreamClassifier, got {name}"
        )
    return saved


class SparkClassificationModel(_Params, _Saved, Model):  # type: ignore[misc]
    """A model that `SparkClassifier` has trained; adds its predictions to a DataFrame.

    The predicted labels are strings, bools or doubles, as evaluators of Spark ML expect. Probabilities and scores are
    vectors in the order of `classes`; with two classes, the scores of both are equal but for their sign.

    ``model.write().overwrite().save(path)`` saves it, with its local model in the file ``model.scwlearn``, which
    `scwlearn.load` reads without Spark; ``SparkClassificationModel.load(path)`` and pipelines read it back.

    Examples
    --------
    >>> from scwlearn.distributed.spark import SparkClassificationModel
    >>> model = SparkClassificationModel.load("hdfs:/models/spam")  # doctest: +SKIP
    >>> model.local().predict([[1.0, 0.0]])  # doctest: +SKIP
    array([1.])
    """

    @property
    def classes(self) -> list[Any]:
        """The labels, sorted."""
        return list(self._classifier.classes.values_in_order)

    @property
    def numClasses(self) -> int:
        """The number of labels."""
        return len(self.classes)

    @property
    def _classifier(self) -> Classifier:
        found: Classifier = unpack(self._packed).learner
        return found

    def _transform(self, dataset: Any) -> Any:
        given = self._columns(dataset.columns)
        columns = Columns(given.features, given.inputs)
        columns.check(dataset.schema)
        numbers = ArrayType(DoubleType(), containsNull=False)
        types = {
            self.getRawPredictionCol(): numbers,
            self.getProbabilityCol(): numbers,
            self.getPredictionCol(): _label_type(self._classifier),
        }
        outputs = [*types]
        for name in filter(None, outputs):
            if name in dataset.columns:
                raise ValueError(f"the DataFrame has a column {name!r} already; drop it, or give another name")
        dotted = [name for name in dataset.columns if "." in name]
        if dotted:
            raise ValueError(
                f"PySpark cannot send columns with a dot in their name to Python: {dotted[0]!r}; rename it"
            )
        added = [StructField(name, kind) for name, kind in types.items() if name]
        schema = StructType([*dataset.schema.fields, *added])
        predicted = dataset.mapInArrow(_predicting(self._packed, columns, outputs), schema)
        for name in filter(None, outputs[:2]):
            predicted = predicted.withColumn(name, array_to_vector(column(name)))
        return predicted


# The name in the metadata of saved pipelines.
SparkClassifier.__module__ = SparkClassificationModel.__module__ = "scwlearn.distributed.spark"


def _label_type(classifier: Classifier) -> Any:
    kind = classifier.classes.labels.dtype.kind
    return StringType() if kind == "U" else BooleanType() if kind == "b" else DoubleType()


def _predicting(
    packed: bytes, columns: Columns, outputs: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that adds columns of scores, probabilities and labels, unless their name is empty."""

    def predict(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        saved = unpack(packed)
        for batch in batches:
            yield _with_predictions(batch, saved, columns, outputs)

    return predict


def _with_predictions(batch: Any, saved: SavedModel, columns: Columns, outputs: list[str]) -> Any:
    classifier, rows = saved.learner, columns.rows(batch, saved)
    methods = (_scores, _probabilities, _predicted)
    added = [method(classifier, rows) for name, method in zip(outputs, methods, strict=True) if name]
    names = [*batch.schema.names, *filter(None, outputs)]
    return pa.RecordBatch.from_arrays([*batch.columns, *added], names)


def _scores(classifier: Classifier, rows: Any) -> Any:
    scores = classifier.scores(rows)
    both = np.column_stack([-scores, scores]) if classifier.is_binary else scores
    return _lists(both[:, -len(classifier.classes.values_in_order) :])


def _probabilities(classifier: Classifier, rows: Any) -> Any:
    return _lists(classifier.probabilities(rows))


def _predicted(classifier: Classifier, rows: Any) -> Any:
    kind = {"U": pa.string(), "b": pa.bool_()}.get(classifier.classes.labels.dtype.kind, pa.float64())
    predicted = classifier.predict(rows)
    return pa.array(predicted.tolist(), kind)


def _lists(values: NDArray[np.float64]) -> Any:
    ends = np.arange(len(values) + 1, dtype=np.int32) * np.int32(values.shape[1])
    return pa.ListArray.from_arrays(ends, np.ascontiguousarray(values).reshape(-1))


class _Writer(MLWriter):  # type: ignore[misc]
    """Writes the parameters as Spark ML does, and the model file beside them."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self._instance = instance

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self._instance, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as directory:
            local = os.path.join(directory, MODEL_FILE)
            write(unpack(self._instance._packed), local)
            _copy(self.sparkSession, local, _model_path(path))


class _Reader(MLReader):  # type: ignore[misc]
    """Reads what `_Writer` wrote."""

    def __init__(self, kind: type[_Saved]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        content = self.sparkSession.read.format("binaryFile").load(_model_path(path)).select("content").first()[0]
        with tempfile.TemporaryDirectory() as directory:
            local = os.path.join(directory, MODEL_FILE)
            with open(local, "wb") as file:
                file.write(content)
            instance = self._kind._of(pack(read(local)))
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance


def _model_path(path: str) -> str:
    return f"{path.rstrip('/')}/{MODEL_FILE}"


def _copy(session: Any, local: str, target: str) -> None:
    """Copy a file of this machine to any file system that Spark knows."""
    classic = getattr(session, "_jsparkSession", None)
    if classic is None:
        session.copyFromLocalToFs(local, target)
        return
    path = session._jvm.org.apache.hadoop.fs.Path
    path(target).getFileSystem(classic.sessionState().newHadoopConf()).copyFromLocalFile(path(local), path(target))
