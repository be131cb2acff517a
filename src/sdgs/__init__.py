"""Multi-label learning via structured decomposition and group sparsity (SDGS)."""

import importlib
from typing import TYPE_CHECKING, Any

from sdgs._utils._version import __version__

if TYPE_CHECKING:
    from sdgs import audit, comparison, datasets, displays, methods, metrics, model_selection
    from sdgs.coding import GroupCodes, group_lasso
    from sdgs.comparison import compare
    from sdgs.decomposition import Decomposition, decompose
    from sdgs.decomposition._label_angles import LabelAngles, label_angles
    from sdgs.deployment import export
    from sdgs.estimators._averaging_classifier import AveragingClassifier
    from sdgs.estimators._classifier import SDGSClassifier
    from sdgs.estimators._classifier_cv import SDGSClassifierCV
    from sdgs.estimators._decision_classifier import DecisionClassifier
    from sdgs.estimators._model_functions import (
        counterfactual,
        explain,
        explain_labels,
        explain_prediction,
        save,
        suspicious_labels,
    )
    from sdgs.explanation import Explanation, LabelExplanation, PredictionExplanation
    from sdgs.model_files._load import load
    from sdgs.persistence._container import ModelFileError

__all__ = [
    "AveragingClassifier",
    "DecisionClassifier",
    "Decomposition",
    "Explanation",
    "GroupCodes",
    "LabelAngles",
    "LabelExplanation",
    "ModelFileError",
    "PredictionExplanation",
    "SDGSClassifier",
    "SDGSClassifierCV",
    "__version__",
    "audit",
    "compare",
    "comparison",
    "counterfactual",
    "datasets",
    "decompose",
    "displays",
    "explain",
    "explain_labels",
    "explain_prediction",
    "export",
    "group_lasso",
    "label_angles",
    "load",
    "methods",
    "metrics",
    "model_selection",
    "save",
    "suspicious_labels",
]

# Names load on first use, so that `import sdgs` costs nothing: scikit-learn alone takes most of a second.
_HOME = {
    "AveragingClassifier": "sdgs.estimators._averaging_classifier",
    "DecisionClassifier": "sdgs.estimators._decision_classifier",
    "Decomposition": "sdgs.decomposition",
    "Explanation": "sdgs.explanation",
    "GroupCodes": "sdgs.coding",
    "LabelAngles": "sdgs.decomposition._label_angles",
    "LabelExplanation": "sdgs.explanation",
    "ModelFileError": "sdgs.persistence._container",
    "PredictionExplanation": "sdgs.explanation",
    "SDGSClassifier": "sdgs.estimators._classifier",
    "SDGSClassifierCV": "sdgs.estimators._classifier_cv",
    "compare": "sdgs.comparison",
    "counterfactual": "sdgs.estimators._model_functions",
    "decompose": "sdgs.decomposition",
    "explain": "sdgs.estimators._model_functions",
    "explain_labels": "sdgs.estimators._model_functions",
    "explain_prediction": "sdgs.estimators._model_functions",
    "export": "sdgs.deployment",
    "group_lasso": "sdgs.coding",
    "label_angles": "sdgs.decomposition._label_angles",
    "load": "sdgs.model_files._load",
    "save": "sdgs.estimators._model_functions",
    "suspicious_labels": "sdgs.estimators._model_functions",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in ("audit", "comparison", "datasets", "displays", "methods", "metrics", "model_selection"):
        return importlib.import_module(f"sdgs.{name}")
    raise AttributeError(f"module 'sdgs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
