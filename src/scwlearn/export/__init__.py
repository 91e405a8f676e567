"""Models in forms that others read and write: weights as JSON, CSV and safetensors, and ONNX."""

from __future__ import annotations

from scwlearn.export.files import MODEL_FORMATS, model_content, model_format, model_from_weights, write_model

__all__ = ["MODEL_FORMATS", "model_content", "model_format", "model_from_weights", "write_model"]
