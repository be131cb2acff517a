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
from sklearn.utils import get_tags

from sdgs._utils._last_step import last_step
from sdgs._utils._unobserved_labels import has_unobserved, known_positives
from sdgs._utils._validation import has_missing
from sdgs.comparison._fit_times import FIT_SECONDS, DataSize
from sdgs.estimators._averaging_classifier import AveragingClassifier
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.estimators._classifier_cv import SDGSClassifierCV
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.methods import BinaryRelevance, ClassifierChains, LabelPowerset, MLkNN, RAkEL, SparseLowRank
from sdgs.selection import _defaults as defaults

_N_TREES = 300
_N_CHAINS = 10


def data_size(X: Any, labels: Any) -> DataSize:
    """The sizes of samples (n, p) and their label matrix (n, k), sparse; unobserved labels count as 0."""
    rows = csr_array(known_positives(labels))
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
    random_state: int

    def decided(self, estimator: Any) -> Any:
        """The classifier behind the decision layer."""
        return DecisionClassifier(estimator, metric=self.metric, random_state=self.random_state)

    def prepared(self, estimator: Any, *, scaled: bool = True) -> Any:
        """The classifier after a scaler, and after an imputer if values are missing."""
        steps: list[Any] = [SimpleImputer(keep_empty_features=True)] if self.size.has_missing else []
        if scaled:
            steps.append(MaxAbsScaler() if _is_mostly_zero(self.size) else StandardScaler())
        return make_pipeline(*steps, estimator) if steps else estimator


def _is_mostly_zero(size: DataSize) -> bool:
    """Whether features are divided by their largest absolute value, which keeps zeros, instead of standardised."""
    return size.is_sparse or size.n_entries < defaults.MOSTLY_ZERO_SHARE * size.n_samples * size.n_features


@dataclass(frozen=True)
class DefaultMethod:
    """A method that is compared by its name; without ``in_default`` only if it is named."""

    title: str
    build: Callable[[Settings], Any]
    in_default: bool = True


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


DEFAULT_METHODS: Mapping[str, DefaultMethod] = {
    "sdgs": DefaultMethod("SDGSClassifier", _sdgs),
    "sdgs-cv": DefaultMethod("SDGSClassifierCV", _sdgs_cv, in_default=False),
    "binary-relevance": DefaultMethod("BinaryRelevance (SVMs)", _behind_decisions(BinaryRelevance)),
    "logistic": DefaultMethod("Logistic regression", _behind_decisions(lambda: OneVsRestClassifier(_logistic()))),
    "mlknn": DefaultMethod("MLkNN", _behind_decisions(MLkNN)),
    "sparse-low-rank": DefaultMethod("SparseLowRank", _behind_decisions(SparseLowRank)),
    "label-powerset": DefaultMethod("LabelPowerset", _behind_decisions(lambda: LabelPowerset(_logistic()))),
    "rakel": DefaultMethod("RAkEL", _behind_decisions(lambda: RAkEL(_logistic(), average="marginals"))),
    "chains": DefaultMethod(
        f"ClassifierChains ({_N_CHAINS})",
        _behind_decisions(lambda: ClassifierChains(_logistic(), n_chains=_N_CHAINS)),
    ),
    "trees": DefaultMethod("ExtraTrees", lambda settings: settings.decided(_trees(settings))),
    "average": DefaultMethod("SDGS + ExtraTrees", _average),
}


def choose_default_methods(size: DataSize) -> tuple[list[str], dict[str, str]]:
    """The names of the methods that are compared by default, and by title why others are not."""
    chosen, left_out = [], {}
    for name, method in DEFAULT_METHODS.items():
        seconds = FIT_SECONDS[name](size)
        if method.in_default and seconds <= defaults.MAX_COMPARED_SECONDS:
            chosen.append(name)
        elif method.in_default:
            left_out[method.title] = (
                f"one fit would take about {_duration(seconds)}. To compare it all the same, name it: {name}"
            )
    return chosen, left_out


def takes_labels(estimator: Any, labels: Any) -> bool:
    """Whether a method can be fitted to labels (sparse), of which some may be unobserved."""
    tags = get_tags(last_step(estimator)).target_tags
    return not has_unobserved(labels) or bool(getattr(tags, "allow_nan", False))


def label_notes(labels: Any) -> tuple[str, ...]:
    """How many labels are unobserved, in a sentence; nothing if none is."""
    if not has_unobserved(labels):
        return ()
    n_unobserved = int(np.isnan(labels.data).sum())
    share = 100 * n_unobserved / (labels.shape[0] * labels.shape[1])
    return (f"{n_unobserved:,} labels ({share:.1f} %) are unobserved: no measure counts them as true or as false.",)


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.0f} hours"


def table_note(size: DataSize) -> str:
    """How the columns of a table become features, in a sentence."""
    return (
        "Text, categories, dates and numbers are encoded by a TableEncoder, fitted to the training samples of each "
        f"split; fitted to all samples it makes {size.n_features:,} features."
    )


def preprocessing(size: DataSize) -> tuple[str, ...]:
    """What is done to the samples before a method gets them, and how methods decide, in sentences."""
    scaling = "divided by the largest absolute value of their feature" if _is_mostly_zero(size) else "standardised"
    notes = [
        f"Values are {scaling}. SDGSClassifier scales samples itself, and trees need no scaling.",
        "All methods decide on labels in the same way: calibrated probabilities of held-out samples, and the label set "
        "with the best expected value of the measure. Other parameters have default values.",
    ]
    if size.has_missing:
        notes.append("Missing values are replaced by the mean of their feature, except for SDGSClassifier.")
    return tuple(notes)
