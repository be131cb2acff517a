"""One Python file that predicts with NumPy alone: the modules of the predictor, and the model as text."""

import ast
import base64
import json
import zlib
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.deployment._model_description import Description

# In an order in which each needs only those before it.
_MODULES = (
    "_sample_blocks",
    "_scaled_rows",
    "_newton_step",
    "_row_group_lasso",
    "_row_huber_lasso",
    "_pipeline_scores",
    "_decided_labels",
    "_predictor",
)
_LINE = 120
_HEADER = '''"""Predicts labels; needs NumPy alone. Written by sdgs {version} from a fitted {model}; do not edit.

    import {module}
    {module}.{example}(X)       # {shape}
    {module}.predict(X)             # {predicted}
    {module}.predict_labels(X)      # for each sample the list of the names of its labels

X is a matrix with {n_features} columns{columns}: an array, a DataFrame of numbers, or a CSR array.
Without SciPy that is CSR(data, indices, indptr, shape).{missing}
Any number of threads may call these functions. The code is that of sdgs, under the BSD 3-Clause License.
"""

'''
_PROBABILITIES = '''def predict_proba(X: Any) -> Floats:
    """The probabilities of labels (n, k), in the order of LABELS."""
    return _PREDICTOR.probabilities(X)


'''
_FUNCTIONS = '''def decision_function(X: Any) -> Floats:
    """The {scores} of labels (n, k), in the order of LABELS."""
    return _PREDICTOR.scores(X)


def predict(X: Any) -> NDArray[Any]:
    """{predicted}."""
    return _PREDICTOR.predict(X)


def predict_labels(X: Any) -> list[list[Any]]:
    """The names of the labels of each sample."""
    return _PREDICTOR.label_lists(X)


'''


def numpy_file(description: Description, module: str) -> str:
    """The text of the file; ``module`` is its name without the suffix."""
    imports, code = _predictor_code()
    document, arrays = _encode(description)
    has_probabilities = description["calibration"] is not None
    predicted = "the label of each sample (n,)" if description["one_per_sample"] else "0/1 (n, k)"
    header = _HEADER.format(
        version=description["version"],
        model=description["model"],
        module=module if module.isidentifier() else "model",
        example="predict_proba" if has_probabilities else "decision_function",
        shape="probabilities (n, k), in the order of LABELS" if has_probabilities else "scores (n, k)",
        predicted=predicted,
        n_features=description["n_features"],
        columns=", in the order of FEATURES" if description["features"] is not None else "",
        missing=" NaN is a missing value." if description["takes_missing"] else "",
    )
    functions = _FUNCTIONS.format(
        scores="log-odds" if has_probabilities else "scores", predicted=predicted[0].upper() + predicted[1:]
    )
    arrays = "\n".join(arrays[start : start + _LINE] for start in range(0, len(arrays), _LINE))
    model = (
        f'_DOCUMENT = {document!r}\n\n_ARRAYS = """\n{arrays}\n"""\n\n'
        "_PREDICTOR = Predictor(read_description(_DOCUMENT, _ARRAYS))\n"
        "LABELS: list[Any] = _PREDICTOR.labels\n"
        'FEATURES: list[Any] | None = _PREDICTOR.description["features"]\n'
        "del _ARRAYS, _DOCUMENT\n"
    )
    return header + imports + "\n" + code + "\n\n" + (_PROBABILITIES if has_probabilities else "") + functions + model


def _predictor_code() -> tuple[str, str]:
    """The imports of all modules of the predictor, and their code one after the other."""
    imports, parts = set(), []
    for name in _MODULES:
        text = files("sdgs.deployment.predictor").joinpath(f"{name}.py").read_text(encoding="utf-8")
        tree, lines = ast.parse(text), text.splitlines()
        docstring = tree.body[0]
        imported = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in imported:
            if not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("sdgs.")):
                imports |= {ast.unparse(node)}
        end = max(node.end_lineno or 0 for node in (docstring, *imported))
        comment = "\n".join(f"# {line}".rstrip() for line in str(ast.get_docstring(tree)).splitlines())
        parts.append(f"{comment}\n" + "\n".join(lines[end:]).rstrip() + "\n")
    return "\n".join(_merged(imports)) + "\n", "\n\n".join(parts)


def _merged(imports: set[str]) -> list[str]:
    """Imports of names from the same module in one line, sorted."""
    names: dict[str, set[str]] = {}
    for line in imports:
        if line.startswith("from "):
            module, _, imported = line.removeprefix("from ").partition(" import ")
            names.setdefault(module, set()).update(imported.split(", "))
    from_lines = [f"from {module} import {', '.join(sorted(group))}" for module, group in names.items()]
    return sorted(line for line in imports if line.startswith("import ")) + sorted(from_lines)


def _encode(description: Description) -> tuple[str, str]:
    """JSON without the arrays, and these, compressed, as base64."""
    data, size = [], 0

    def replace_array(value: Any) -> Any:
        nonlocal size
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{type(value).__name__} has no place in a description.")
        array: NDArray[Any] = np.ascontiguousarray(value, dtype="<f8" if value.dtype.kind == "f" else "<i8")
        entry = {"array": [size, array.dtype.str, list(value.shape)]}
        data.append(array.tobytes())
        size += array.nbytes
        return entry

    document = json.dumps(description, default=replace_array, allow_nan=False)
    return document, base64.b64encode(zlib.compress(b"".join(data))).decode()
