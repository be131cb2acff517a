"""The other methods that the paper names, with scikit-learn's interface.

They neither scale samples nor take missing values: put a scaler and an imputer before them in a pipeline. If the base
learner warns that it did not converge, scale the samples, or pass one with more iterations, as in
``ClassifierChains(LogisticRegression(max_iter=10_000))``. Most predict a label at a fixed threshold;
:class:`~sdgs.DecisionClassifier` tunes the decision. :class:`MDDM` is a transformer, to put before a classifier.
"""

from sdgs.methods._binary_relevance import BinaryRelevance
from sdgs.methods._classifier_chains import ClassifierChains
from sdgs.methods._close_upwards import close_upwards
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
    "close_upwards",
]
