"""Models in the formats of other tools: weights as JSON, CSV and safetensors, which can be read back, and ONNX."""

from __future__ import annotations

from scwlearn.export.formats import EXPORT_FORMATS, encode_model, export_model, import_weights

__all__ = ["EXPORT_FORMATS", "encode_model", "export_model", "import_weights"]
