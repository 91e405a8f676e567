"""The columns of a DataFrame as examples: what they are, and what Arrow hands over of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DecimalType, NumericType, StringType
from scipy.sparse import csr_array

from scwlearn.data.labels import as_labels
from scwlearn.data.tables.arrow import table_rows
from scwlearn.files import SavedModel


@dataclass(frozen=True)
class Columns:
    """Which columns of a DataFrame are the features of an example, its label and its weight.

    Parameters
    ----------
    features : str
        A column of vectors or of arrays of numbers; empty if there are `inputs`.
    inputs : tuple of str
        Columns that are the values of a record, of any types that a record can have.
    label, weight : str
        Empty if there is none.
    """

    features: str = ""
    inputs: tuple[str, ...] = ()
    label: str = ""
    weight: str = ""

    @property
    def checked(self) -> list[str]:
        """The columns of `examples` that may not be null; a value of a record may."""
        return [name for name in ("label", "weight" * bool(self.weight), "x" * (not self.inputs)) if name]

    def examples(self, dataset: Any) -> Any:
        """Return a DataFrame of x, label and weight, after checking the types of the columns."""
        self.check(dataset.schema)
        if self.inputs:
            x = F.struct(*map(column, self.inputs))
        elif isinstance(dataset.schema[self.features].dataType, VectorUDT):
            x = F.unwrap_udt(column(self.features))
        else:
            x = column(self.features)
        chosen = [x.alias("x"), column(self.label).alias("label")]
        weights = [column(self.weight).cast("double").alias("weight")] if self.weight else []
        return dataset.select(*chosen, *weights)

    def check(self, schema: Any) -> None:
        """Raise an error if a column is missing, or its type is not allowed."""
        for name in filter(None, (self.features, *self.inputs, self.label, self.weight)):
            if name not in schema.names:
                raise ValueError(f"the DataFrame has no column {name!r}; its columns are {', '.join(schema.names)}")
        kinds = {name: schema[name].dataType for name in (self.features, self.label, self.weight) if name}
        if self.features:
            _check_features(self.features, kinds[self.features])
        for name in self.inputs:
            if isinstance(schema[name].dataType, VectorUDT):
                raise TypeError(
                    f"column {name!r} has vectors, but a StreamClassifier reads numbers, strings and dates; name the "
                    "columns that it should read in inputCols, or use an estimator, such as SCW1(), with featuresCol"
                )
        label = kinds.get(self.label, StringType())
        if not isinstance(label, NumericType | StringType | BooleanType) or isinstance(label, DecimalType):
            raise TypeError(_wrong_type("labelCol", self.label, label, "strings, bools, integers or doubles"))
        if self.weight and not isinstance(kinds[self.weight], NumericType):
            raise TypeError(_wrong_type("weightCol", self.weight, kinds[self.weight], "numbers"))

    def rows(self, batch: Any, saved: SavedModel) -> Any:
        """Return what the classifier of a model scores, from the columns of an Arrow batch."""
        if not self.inputs:
            return matrix(batch.column(self.features))
        return table_rows(batch.select(list(self.inputs)), saved.learner.features, saved.learner.config.slots)


def column(name: str) -> Any:
    """Return a column by its name, which may have dots."""
    return F.col("`" + name.replace("`", "``") + "`")


def _check_features(name: str, kind: Any) -> None:
    if isinstance(kind, VectorUDT) or (isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType)):
        return
    allowed = "vectors or arrays of numbers; assemble it with VectorAssembler, or use a StreamClassifier with inputCols"
    raise TypeError(_wrong_type("featuresCol", name, kind, allowed))


def _wrong_type(param: str, name: str, kind: Any, allowed: str) -> str:
    return f"{param} {name!r} has the type {kind.simpleString()}; it must have {allowed}"


def records(array: Any) -> Any:
    """Return a column of structs as a table."""
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(array)])


def labels(array: Any) -> NDArray[Any]:
    """Return a column of labels."""
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return as_labels(values) if values.dtype == object else values


def matrix(array: Any) -> Any:
    """Return a column of arrays or of unwrapped ML vectors as a dense matrix, or a sparse one if a vector is sparse.

    Parameters
    ----------
    array : pyarrow.Array
        Lists of numbers, or structs of type (0: sparse, 1: dense), size, indices and values.

    Returns
    -------
    array of shape (rows, features), or csr_array
        One row for each list or vector.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from scwlearn.distributed.spark.columns import matrix
    >>> matrix(pa.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    if array.null_count:
        raise ValueError(f"{array.null_count} of {len(array)} rows have no features; drop them with dropna")
    if not pa.types.is_struct(array.type):
        return _dense(array)
    kinds, sizes, indices, values = array.flatten()
    is_dense = kinds.to_numpy().astype(bool)
    if is_dense.all():
        return _dense(values)
    lengths = values.value_lengths().to_numpy()
    width = _one_width(np.where(is_dense, lengths, sizes.fill_null(0).to_numpy()))
    # The places of all values: those of the sparse vectors are listed.
    places = np.empty(lengths.sum(), dtype=np.int32)
    of_dense = np.repeat(is_dense, lengths)
    places[of_dense] = np.tile(np.arange(width, dtype=np.int32), np.count_nonzero(is_dense))
    places[~of_dense] = indices.flatten().to_numpy()
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((values.flatten().to_numpy(), places, ends), shape=(len(array), width))


def _dense(lists: Any) -> NDArray[Any]:
    width = _one_width(lists.value_lengths().to_numpy())
    values: NDArray[Any] = lists.flatten().to_numpy(zero_copy_only=False)
    return (values if values.dtype.kind == "f" else values.astype(np.float64)).reshape(-1, width)


def _one_width(widths: NDArray[Any]) -> int:
    found: Sequence[int] = np.unique(widths).tolist()
    if len(found) > 1:
        raise ValueError(f"the vectors have from {found[0]} to {found[-1]} features; all must have the same number")
    return found[0] if found else 0
