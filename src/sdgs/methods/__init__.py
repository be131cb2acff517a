"""The other methods that the paper names."""

from sdgs.methods._binary_relevance import BinaryRelevance
from sdgs.methods._classifier_chains import ClassifierChains
from sdgs.methods._compressed_labels import CompressedLabels
from sdgs.methods._curds_and_whey import CurdsAndWhey, CurdsAndWheyCV
from sdgs.methods._hierarchical_relevance import HierarchicalRelevance
from sdgs.methods._homer import HOMER
from sdgs.methods._label_powerset import LabelPowerset
from sdgs.methods._mddm import MDDM
from sdgs.methods._mlknn import MLkNN
from sdgs.methods._plst import PLST
from sdgs.methods._rakel import RAkEL
from sdgs.methods._reduced_rank_ridge import ReducedRankRidge, ReducedRankRidgeCV
from sdgs.methods._shared_subspace import SharedSubspace, SharedSubspaceCV
from sdgs.methods._sparse_low_rank import SparseLowRank, SparseLowRankCV
from sdgs.methods._stacked_relevance import StackedRelevance

__all__ = [
    "HOMER",
    "MDDM",
    "PLST",
    "BinaryRelevance",
    "ClassifierChains",
    "CompressedLabels",
    "CurdsAndWhey",
    "CurdsAndWheyCV",
    "HierarchicalRelevance",
    "LabelPowerset",
    "MLkNN",
    "RAkEL",
    "ReducedRankRidge",
    "ReducedRankRidgeCV",
    "SharedSubspace",
    "SharedSubspaceCV",
    "SparseLowRank",
    "SparseLowRankCV",
    "StackedRelevance",
]
