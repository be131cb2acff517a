"""Multi-label learning via structured decomposition and group sparsity (SDGS)."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdgs import baselines, datasets, metrics
    from sdgs._classifier import SDGSClassifier
    from sdgs._classifier_cv import SDGSClassifierCV
    from sdgs.coding import GroupCodes, group_lasso
    from sdgs.decomposition import Decomposition, decompose

__version__ = "0.1.0.dev0"
__all__ = [
    "Decomposition",
    "GroupCodes",
    "SDGSClassifier",
    "SDGSClassifierCV",
    "baselines",
    "datasets",
    "decompose",
    "group_lasso",
    "metrics",
]

# Names load on first use, so that `import sdgs` costs nothing: scikit-learn alone takes most of a second.
_HOME = {
    "Decomposition": "sdgs.decomposition",
    "GroupCodes": "sdgs.coding",
    "SDGSClassifier": "sdgs._classifier",
    "SDGSClassifierCV": "sdgs._classifier_cv",
    "decompose": "sdgs.decomposition",
    "group_lasso": "sdgs.coding",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in ("baselines", "datasets", "metrics"):
        return importlib.import_module(f"sdgs.{name}")
    raise AttributeError(f"module 'sdgs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
