"""The methods that are compared by default, with the same preprocessing and the same decision layer for all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sdgs._utils._validation import has_missing
from sdgs.estimators._averaging_classifier import AveragingClassifier
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.estimators._classifier_cv import SDGSClassifierCV
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.methods import BinaryRelevance, ClassifierChains, LabelPowerset, MLkNN, RAkEL, SparseLowRank
from sdgs.selection import _defaults as defaults

_N_TREES = 300
_N_CHAINS = 10
_SECONDS_TO_START = 0.05
MAX_FIT_SECONDS = 600.0  # of methods that are compared by default; budget


@dataclass(frozen=True)
class DataSize:
    """What the choice of the preprocessing and the time of a fit depend on.

    ``n_entries`` counts the entries of X that are not zero, ``n_label_sets`` the different rows of Y.
    """

    n_samples: int
    n_features: int
    n_labels: int
    n_entries: int
    n_label_sets: int
    is_sparse: bool
    has_missing: bool

    @property
    def n_stored(self) -> int:
        """The number of entries that a pass over the samples takes."""
        return self.n_entries if self.is_sparse else self.n_samples * self.n_features

    @property
    def is_mostly_zero(self) -> bool:
        """Whether columns are divided by their largest absolute value instead of standardised."""
        share = self.n_entries / (self.n_samples * self.n_features)
        return self.is_sparse or share < defaults.MOSTLY_ZERO_SHARE


def data_size(X: Any, labels: Any) -> DataSize:
    """The sizes of samples (n, p) and their label matrix (n, k), sparse and boolean."""
    rows = csr_array(labels)
    rows.sort_indices()
    label_sets = {rows.indices[start:end].tobytes() for start, end in zip(rows.indptr, rows.indptr[1:], strict=False)}
    n_entries = int(np.count_nonzero(X.data if issparse(X) else X))
    (n, p), k = X.shape, labels.shape[1]
    return DataSize(n, p, k, n_entries, len(label_sets), issparse(X), has_missing(X))


@dataclass(frozen=True)
class Settings:
    """What all default methods share: the sizes of the data, the metric to decide for, and the seed."""

    size: DataSize
    metric: str
    random_state: int | None

    def decided(self, estimator: Any) -> Any:
        """The classifier behind the decision layer."""
        return DecisionClassifier(estimator, metric=self.metric, random_state=self.random_state)

    def prepared(self, estimator: Any, *, scaled: bool = True) -> Any:
        """The classifier after a scaler, and after an imputer if values are missing."""
        steps: list[Any] = [SimpleImputer(keep_empty_features=True)] if self.size.has_missing else []
        if scaled:
            steps.append(MaxAbsScaler() if self.size.is_mostly_zero else StandardScaler())
        return make_pipeline(*steps, estimator) if steps else estimator


@dataclass(frozen=True)
class DefaultMethod:
    """A method that has a name, and takes part unless it would take too long.

    ``work`` is what the time of a fit is roughly proportional to, and ``seconds_per_work`` the time.
    """

    title: str
    build: Callable[[Settings], Any]
    work: Callable[[DataSize], float]
    seconds_per_work: float
    in_default: bool = True

    def seconds(self, size: DataSize) -> float:
        """Estimated time of one fit, with one thread: within a factor of about four on eight training sets."""
        return _SECONDS_TO_START + self.seconds_per_work * self.work(size)


def _sdgs(settings: Settings) -> Any:
    return SDGSClassifier(metric=settings.metric, random_state=settings.random_state)


def _sdgs_cv(settings: Settings) -> Any:
    return SDGSClassifierCV(metric=settings.metric, random_state=settings.random_state)


def _logistic() -> Any:
    return LogisticRegression(max_iter=1000)


def _trees(settings: Settings) -> Any:
    return settings.prepared(ExtraTreesClassifier(_N_TREES), scaled=False)


def _average(settings: Settings) -> Any:
    members = [("sdgs", _sdgs(settings)), ("trees", _trees(settings))]
    return AveragingClassifier(members, metric=settings.metric, random_state=settings.random_state)


def _behind_decisions(make: Callable[[], Any]) -> Callable[[Settings], Any]:
    return lambda settings: settings.decided(settings.prepared(make()))


def _linear_work(size: DataSize) -> float:
    """One pass over the samples per label."""
    return size.n_stored * size.n_labels


def _tree_work(size: DataSize) -> float:
    """One pass over a sample of the features per level of a tree, for all labels."""
    depth = np.log2(size.n_samples + 1)
    return float(size.n_samples * depth * np.sqrt(size.n_features) * (1 + size.n_labels / 10))


def _sdgs_work(size: DataSize) -> float:
    return size.n_samples * (size.n_labels + 20) * min(size.n_features, 1000)


DEFAULT_METHODS: Mapping[str, DefaultMethod] = {
    "sdgs": DefaultMethod("SDGSClassifier", _sdgs, _sdgs_work, 1e-8),
    "sdgs-cv": DefaultMethod("SDGSClassifierCV", _sdgs_cv, _sdgs_work, 1e-7, in_default=False),
    "binary-relevance": DefaultMethod("BinaryRelevance (SVMs)", _behind_decisions(BinaryRelevance), _linear_work, 1e-6),
    "logistic": DefaultMethod(
        "Logistic regression", _behind_decisions(lambda: OneVsRestClassifier(_logistic())), _linear_work, 1e-6
    ),
    "mlknn": DefaultMethod("MLkNN", _behind_decisions(MLkNN), lambda size: size.n_samples * size.n_stored, 1e-9),
    "sparse-low-rank": DefaultMethod(
        "SparseLowRank",
        _behind_decisions(SparseLowRank),
        lambda size: size.n_labels * (size.n_stored + size.n_features * size.n_labels),
        1e-6,
    ),
    "label-powerset": DefaultMethod(
        "LabelPowerset",
        _behind_decisions(lambda: LabelPowerset(_logistic())),
        lambda size: size.n_stored * size.n_label_sets,
        1e-7,
    ),
    "rakel": DefaultMethod(
        "RAkEL", _behind_decisions(lambda: RAkEL(_logistic(), average="marginals")), _linear_work, 1e-5
    ),
    "chains": DefaultMethod(
        f"ClassifierChains ({_N_CHAINS})",
        _behind_decisions(lambda: ClassifierChains(_logistic(), n_chains=_N_CHAINS)),
        lambda size: size.n_labels * (size.n_stored + size.n_samples * size.n_labels / 2),
        1e-5,
    ),
    "trees": DefaultMethod("ExtraTrees", lambda settings: settings.decided(_trees(settings)), _tree_work, 1e-5),
    "average": DefaultMethod("SDGS + ExtraTrees", _average, _tree_work, 1e-5),
}


def choose_default_methods(size: DataSize) -> tuple[list[str], dict[str, str]]:
    """The names of the methods that are compared by default, and by title why others are not."""
    chosen, left_out = [], {}
    for name, method in DEFAULT_METHODS.items():
        seconds = method.seconds(size)
        if method.in_default and seconds <= MAX_FIT_SECONDS:
            chosen.append(name)
        elif method.in_default:
            left_out[method.title] = (
                f"one fit would take about {_duration(seconds)}. To compare it all the same, name it: {name}"
            )
    return chosen, left_out


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.0f} hours"


def preprocessing(size: DataSize) -> tuple[str, ...]:
    """What is done to the samples before a method gets them, in sentences."""
    scaling = (
        "divided by the largest absolute value of their feature, because most are zero"
        if size.is_mostly_zero
        else "standardised"
    )
    notes = [
        f"Values are {scaling}; SDGSClassifier scales samples itself, and trees need no scaling.",
        "All methods decide on labels in the same way: calibrated probabilities of held-out samples, and the label set "
        "with the best expected value of the metric. Other parameters have default values.",
    ]
    if size.has_missing:
        notes.append("Missing values are replaced by the mean of their feature, except for SDGSClassifier.")
    return tuple(notes)
