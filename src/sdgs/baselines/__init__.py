"""The methods that the paper compares SDGS with."""

from sdgs.baselines._binary_relevance import BinaryRelevance
from sdgs.baselines._mddm import MDDM
from sdgs.baselines._mlknn import MLkNN

__all__ = ["MDDM", "BinaryRelevance", "MLkNN"]
