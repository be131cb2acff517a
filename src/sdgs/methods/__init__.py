"""Methods that the paper compares SDGS with."""

from sdgs.methods._binary_relevance import BinaryRelevance
from sdgs.methods._compressed_labels import CompressedLabels
from sdgs.methods._curds_and_whey import CurdsAndWhey, CurdsAndWheyCV
from sdgs.methods._mddm import MDDM
from sdgs.methods._mlknn import MLkNN
from sdgs.methods._plst import PLST
from sdgs.methods._reduced_rank_ridge import ReducedRankRidge, ReducedRankRidgeCV
from sdgs.methods._shared_subspace import SharedSubspace, SharedSubspaceCV
from sdgs.methods._sparse_low_rank import SparseLowRank, SparseLowRankCV

__all__ = [
    "MDDM",
    "PLST",
    "BinaryRelevance",
    "CompressedLabels",
    "CurdsAndWhey",
    "CurdsAndWheyCV",
    "MLkNN",
    "ReducedRankRidge",
    "ReducedRankRidgeCV",
    "SharedSubspace",
    "SharedSubspaceCV",
    "SparseLowRank",
    "SparseLowRankCV",
]
