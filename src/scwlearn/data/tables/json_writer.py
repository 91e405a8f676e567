"""Writers of records in JSON: an object per line, or an array of objects."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any, BinaryIO

from scwlearn._util.checks import is_unicode
from scwlearn.data.batch import Batch
from scwlearn.data.features import Features
from scwlearn.data.io.errors import shown
from scwlearn.data.tables.table_writer import tables_of
from scwlearn.data.writer import Writer, WriterOptions, check_names, error_at, label_values, with_names


class JsonWriter(Writer):
    """Writer of JSON lines: features by name, or as the values of given columns."""

    def __init__(self, file: BinaryIO, options: WriterOptions) -> None:
        super().__init__(file, options)
        self._has_weights = options.has_weights
        own = dict.fromkeys((options.label, options.weight), "ignore")
        self._owner_of = Features(kinds={**(options.columns or {}), **own}).spec().owner_of

    def write_batch(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        self.file.write("".join(text + "\n" for text in self.texts(batch)).encode())

    def texts(self, batch: Batch) -> list[str]:
        """Return the text of each example."""
        objects = self._objects(batch)
        self._check_keys(batch, objects)
        label_key, weight_key = self.options.label, self.options.weight
        if self._has_weights is None:
            self._has_weights = batch.weights is not None
        if batch.weights is not None and not self._has_weights:
            # Without the key, they could not be read as records with a weight.
            raise error_at(batch, 0, "these examples have weights, but the first ones had none")
        none = 1.0 if self._has_weights else None
        weights = [none] * len(batch) if batch.weights is None else batch.weights.tolist()
        texts = []
        for label, weight, features in zip(label_values(batch, with_bools=True), weights, objects, strict=True):
            own = {label_key: _shortest(label), weight_key: _shortest(weight)}
            whole = {key: value for key, value in own.items() if value is not None} | features
            texts.append(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))
        return texts

    def _check_keys(self, batch: Batch, objects: list[dict[str, Any]]) -> None:
        """Raise a DataError for a key that a reader would leave out with the label or the weight."""
        own = (self.options.label, self.options.weight)
        bad = {key for key in dict.fromkeys(chain.from_iterable(objects)) if self._owner_of(key) in own}
        for row, features in enumerate(objects):
            if (key := next(filter(bad.__contains__, features), None)) is not None:
                what = "has the name" if key in own else "seems to belong to the key"
                hint = "choose other keys with {label} and {weight}"
                raise error_at(batch, row, f"the feature {shown(key)} {what} of the label or the weight", hint=hint)

    def _objects(self, batch: Batch) -> list[dict[str, Any]]:
        zero_based = self.options.zero_based
        if self.options.columns is not None:
            return [
                {key: _shortest(column[row]) for key, column in table.items() if column[row] is not None}
                for part, table in tables_of(batch, self.options.columns, zero_based=zero_based)
                for row in range(len(part))
            ]
        rows = with_names(batch, zero_based=zero_based)
        check_names(batch, rows, is_unicode, "a name must be valid Unicode")
        return [{name: _shortest(value) for name, value in features.items()} for features in rows.dicts()]


def _shortest(value: Any) -> Any:
    """Return an integral float as an int, which is written shorter."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


class JsonArrayWriter(JsonWriter):
    """Writer of an array of objects, each on a line."""

    def __init__(self, file: BinaryIO, options: WriterOptions) -> None:
        super().__init__(file, options)
        self._before = "["

    def write_batch(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        self.file.write((self._before + "\n" + ",\n".join(self.texts(batch))).encode())
        self._before = ","

    def finish(self) -> None:
        """End the array."""
        self.file.write(b"\n]\n")
