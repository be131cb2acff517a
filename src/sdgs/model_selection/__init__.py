"""Splits of multi-label data in which all parts have the same share of each label: iterative stratification.

The splitters have scikit-learn's interface, and go wherever scikit-learn takes ``cv``.
"""

from sdgs.model_selection._fold_quality import FoldQuality, fold_quality
from sdgs.model_selection._splitters import (
    MultilabelStratifiedKFold,
    MultilabelStratifiedShuffleSplit,
    RepeatedMultilabelStratifiedKFold,
    multilabel_train_test_split,
)

__all__ = [
    "FoldQuality",
    "MultilabelStratifiedKFold",
    "MultilabelStratifiedShuffleSplit",
    "RepeatedMultilabelStratifiedKFold",
    "fold_quality",
    "multilabel_train_test_split",
]
