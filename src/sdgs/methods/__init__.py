"""Methods that the paper compares SDGS with."""

from sdgs.methods._binary_relevance import BinaryRelevance
from sdgs.methods._classifier_chains import ClassifierChains
from sdgs.methods._hierarchical_relevance import HierarchicalRelevance
from sdgs.methods._homer import HOMER
from sdgs.methods._label_powerset import LabelPowerset
from sdgs.methods._mddm import MDDM
from sdgs.methods._mlknn import MLkNN
from sdgs.methods._rakel import RAkEL
from sdgs.methods._stacked_relevance import StackedRelevance

__all__ = [
    "HOMER",
    "MDDM",
    "BinaryRelevance",
    "ClassifierChains",
    "HierarchicalRelevance",
    "LabelPowerset",
    "MLkNN",
    "RAkEL",
    "StackedRelevance",
]
