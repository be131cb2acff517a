"""Writing a fitted model as a file that runs without this package."""

from pathlib import Path
from typing import Any

from sdgs._utils._validation import check_choice
from sdgs.deployment._model_description import describe_model
from sdgs.deployment._numpy_file import numpy_file
from sdgs.persistence._atomic_write import write_atomically

SUFFIXES = {"numpy": ".py", "onnx": ".onnx"}


def export(model: Any, path: str | Path, *, format: str = "numpy") -> Path:  # noqa: A002
    """Write a fitted model to one file that predicts without this package.

    Parameters
    ----------
    model : SDGSClassifier, SDGSClassifierCV, BinaryRelevance or a method with linear scores
        Fitted to numbers. A pipeline cannot be exported, but its last step can.
    path : str or Path
        Ends in ``.py`` or ``.onnx``. A file of the same name is replaced.
    format : {"numpy", "onnx"}, default="numpy"
        ``"numpy"`` is a Python file that needs NumPy alone, and predicts whatever the model does: dense and CSR samples
        with and without missing values. It has ``predict_proba``, ``predict``, ``predict_labels`` and ``LABELS``.

        ``"onnx"`` is a graph for ONNX runtimes, of dense samples without missing values, for models whose predictions
        have a closed form: labels are read from kernel and sample, or from codes with ``alpha=0``, without ``huber``.
        Needs the package onnx: ``pip install 'sdgs[export]'``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If the format cannot hold the model; the message says why, and what to do.

    Notes
    -----
    The probabilities agree with those of the model to 1e-6 for samples in float64. Labels are the same, except where
    two label sets are equally good up to rounding. The library computes with samples of float32 in that precision; the
    file always computes in float64.

    A Python file is a program: only run one whose source you trust. docs/serving.md says when to export.

    Examples
    --------
    >>> import sdgs, runpy, tempfile
    >>> from pathlib import Path
    >>> from sdgs.datasets import make_label_subspaces
    >>> data = make_label_subspaces(200, 20, 3, n_components=2, random_state=0)
    >>> model = sdgs.SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = runpy.run_path(str(sdgs.export(model, Path(folder) / "model.py")))
    >>> bool(abs(exported["predict_proba"](data.X) - model.predict_proba(data.X)).max() < 1e-6)
    True
    """
    check_choice(format, "format", tuple(SUFFIXES))
    path = Path(path)
    if path.suffix.lower() != SUFFIXES[format]:
        raise ValueError(f"path must end in {SUFFIXES[format]} for format={format!r}, got {str(path)!r}.")
    description = describe_model(model)
    if format == "numpy":
        write_atomically(path, numpy_file(description, path.stem))
    else:
        from sdgs.deployment._onnx_file import onnx_file

        write_atomically(path, onnx_file(description))
    return path
