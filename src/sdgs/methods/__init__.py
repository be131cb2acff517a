"""Methods that the paper compares SDGS with."""

from sdgs.methods._binary_relevance import BinaryRelevance
from sdgs.methods._mddm import MDDM
from sdgs.methods._mlknn import MLkNN
from sdgs.methods._sparse_low_rank import SparseLowRank, SparseLowRankCV

__all__ = ["MDDM", "BinaryRelevance", "MLkNN", "SparseLowRank", "SparseLowRankCV"]
