"""Fitted models as files that run without this package: a Python file that needs NumPy alone, or ONNX."""

from sdgs.deployment._export_model import export

__all__ = ["export"]
