"""Training: the decomposition of labelled data into one low-rank component per label and a sparse residual."""

from sdgs.decomposition._decompose import decompose
from sdgs.decomposition._decomposition_result import Decomposition, SampleParts

__all__ = ["Decomposition", "SampleParts", "decompose"]
