"""Multi-label learning via structured decomposition and group sparsity (SDGS)."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdgs import baselines, datasets, displays, metrics
    from sdgs._classifier import SDGSClassifier
    from sdgs._classifier_cv import SDGSClassifierCV
    from sdgs._container import ModelFileError
    from sdgs._label_map import LabelAngles, label_angles
    from sdgs._load import load
    from sdgs.coding import GroupCodes, group_lasso
    from sdgs.decomposition import Decomposition, decompose
    from sdgs.explanation import Explanation

__version__ = "0.1.0.dev0"
__all__ = [
    "Decomposition",
    "Explanation",
    "GroupCodes",
    "LabelAngles",
    "ModelFileError",
    "SDGSClassifier",
    "SDGSClassifierCV",
    "baselines",
    "datasets",
    "decompose",
    "displays",
    "group_lasso",
    "label_angles",
    "load",
    "metrics",
]

# Names load on first use, so that `import sdgs` costs nothing: scikit-learn alone takes most of a second.
_HOME = {
    "Decomposition": "sdgs.decomposition",
    "Explanation": "sdgs.explanation",
    "GroupCodes": "sdgs.coding",
    "LabelAngles": "sdgs._label_map",
    "ModelFileError": "sdgs._container",
    "SDGSClassifier": "sdgs._classifier",
    "SDGSClassifierCV": "sdgs._classifier_cv",
    "decompose": "sdgs.decomposition",
    "group_lasso": "sdgs.coding",
    "label_angles": "sdgs._label_map",
    "load": "sdgs._load",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in ("baselines", "datasets", "displays", "metrics"):
        return importlib.import_module(f"sdgs.{name}")
    raise AttributeError(f"module 'sdgs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
