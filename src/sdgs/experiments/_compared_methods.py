"""Other methods, tuned in the same way as SDGS.

A method learns scores, which are treated like those of :class:`sdgs.SDGSClassifier`: scores of training samples come
from models that were not fitted to them, are calibrated, and are used to tune two decisions: the label set with the
best expected F1, as SDGS uses it, and one threshold. The decision with the better F1 on these samples is used. So the
comparison is about what the methods learn, not about the choice of a threshold. The predictions of both decisions are
recorded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import KFold
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

from sdgs._utils._row_norms import narrow_indices
from sdgs._utils._validation import has_missing
from sdgs.experiments._rival_models import (
    MAX_SAMPLES_OF_MANY_TREES,
    Boomer,
    CatBoost,
    ExtraTrees,
    LightGBM,
    LowRankScores,
    Powersets,
)
from sdgs.methods import BinaryRelevance, MLkNN
from sdgs.readout._calibration import Calibration, fit_calibration
from sdgs.readout._decision import Decision, metric_value, tune_decision
from sdgs.readout._samples import ArraySamples

Scores = NDArray[np.float64]
_MAX_TUNING_SAMPLES = 5000  # on which parameters are compared
_MANY_LABELS = 60  # above it an ensemble has fewer chains
_MIN_EARLY_STOPPING_SAMPLES = 20  # of either class, for boosting to hold some out for early stopping


class ScoringModel(Protocol):
    """Learns from samples and their labels to score new samples."""

    def fit(self, X: Any, Y: NDArray[Any]) -> Any:
        """Fit to samples and labels."""

    def decision_function(self, X: Any) -> Scores:
        """Scores of samples."""


class ChainEnsemble:
    """An ensemble of classifier chains (Read et al., 2011) of linear SVMs, each on two thirds of the samples.

    A chain predicts the labels in a random order, each from the sample and the labels before it.
    """

    def __init__(self, C: float, seed: int) -> None:
        self.C, self.seed = C, seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "ChainEnsemble":
        """Fit all chains."""
        self._chains, self._k = [], Y.shape[1]
        self.n_chains = 10 if self._k <= _MANY_LABELS else 5  # a chain of many labels takes long
        size = min(_MAX_TUNING_SAMPLES, max(1, 2 * len(Y) // 3))
        for i in range(self.n_chains):
            rng = np.random.default_rng([self.seed, i])
            rows = rng.choice(len(Y), size, replace=False)
            labels = np.flatnonzero(Y[rows].any(axis=0) & ~Y[rows].all(axis=0))  # an SVM needs both classes
            if len(labels):
                svm = LinearSVC(C=self.C, random_state=self.seed)
                chain = ClassifierChain(svm, order=list(rng.permutation(len(labels))))
                self._chains.append((labels, chain.fit(X[rows], Y[rows][:, labels])))
        return self

    def decision_function(self, X: Any) -> Scores:
        """Mean over the chains of the margin of each label, clipped to [-1, 1]."""
        scores = np.full((X.shape[0], self._k), -1.0)
        for labels, chain in self._chains:
            scores[:, labels] += (1 + np.clip(chain.decision_function(X), -1, 1)) / self.n_chains
        return scores


class Boosting:
    """Histogram gradient boosting, one model per label. Accepts missing entries."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "Boosting":
        """Fit one model per label."""
        self._models = []
        for y in Y.T:
            n_minority = min(y.sum(), len(y) - y.sum())
            early = bool(n_minority >= _MIN_EARLY_STOPPING_SAMPLES)
            model = HistGradientBoostingClassifier(
                max_iter=100 if early else 30, early_stopping=early, n_iter_no_change=5, random_state=self.seed
            )
            self._models.append(model.fit(X, y) if n_minority > 0 else float(y[0]))
        return self

    def decision_function(self, X: Any) -> Scores:
        """Log-odds, clipped to [-10, 10]; -10 or 10 for labels that are constant in training."""
        columns = [
            np.full(X.shape[0], 10 * (2 * model - 1)) if isinstance(model, float) else model.decision_function(X)
            for model in self._models
        ]
        return np.asarray(np.clip(np.column_stack(columns), -10, 10))


class CalibratedMethod:
    """Calibrates the scores of a method and decides on labels."""

    _calibration: Calibration
    _decisions: dict[str, Decision]
    best_rule: str
    parameters: dict[str, Any]

    def tune_decisions(self, scores: Scores, Y: NDArray[Any]) -> float:
        """Calibrate scores of held-out samples and tune both decisions on them; returns the better F1."""
        self._calibration = fit_calibration(scores, Y)
        P = self._calibration.probabilities(scores)
        at_least_one = bool(Y.any(axis=1).all())
        self._decisions = {
            rule: tune_decision(rule, "f1", P, Y, at_least_one=at_least_one) for rule in ("expected", "threshold")
        }
        f1 = {rule: metric_value("f1", Y, decision.decide(P)) for rule, decision in self._decisions.items()}
        self.best_rule = max(f1, key=lambda rule: f1[rule])
        return f1[self.best_rule]

    def scores(self, X: Any) -> Scores:
        """Scores of new samples."""
        raise NotImplementedError

    def predict(self, X: Any) -> dict[str, NDArray[np.int64]]:
        """Labels of new samples, by each decision."""
        P = self._calibration.probabilities(self.scores(X))
        return {rule: decision.decide(P).astype(np.int64) for rule, decision in self._decisions.items()}


class TunedMethod(CalibratedMethod):
    """A method whose parameters are chosen by cross-validation from ``groups``."""

    def __init__(self, make: Callable[..., ScoringModel], groups: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._make, self._groups, self._seed = make, groups, seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "TunedMethod":
        """Choose the parameters and the decision, and fit to all samples."""
        Y = np.asarray(Y)
        rows = np.arange(len(Y))
        if len(Y) > _MAX_TUNING_SAMPLES:
            rows = np.sort(np.random.default_rng(self._seed).choice(len(Y), _MAX_TUNING_SAMPLES, replace=False))
        scores: dict[int, Scores] = {}
        best = 0
        if len(self._groups) > 1:
            scores = {i: self._held_out_scores(X[rows], Y[rows], group) for i, group in enumerate(self._groups)}
            best = max(scores, key=lambda i: self.tune_decisions(scores[i], Y[rows]))
        self.parameters = dict(self._groups[best])
        reuse = bool(scores) and len(rows) == len(Y)
        self.tune_decisions(scores[best] if reuse else self._held_out_scores(X, Y, self.parameters), Y)
        self._model = self._make(**self.parameters, seed=self._seed)
        self._model.fit(X, Y)
        return self

    def scores(self, X: Any) -> Scores:
        """Scores of new samples, from the model of all training samples."""
        return self._model.decision_function(X)

    def _held_out_scores(self, X: Any, Y: NDArray[Any], group: Mapping[str, Any]) -> Scores:
        scores = np.zeros(Y.shape)
        for train, test in KFold(3, shuffle=True, random_state=self._seed).split(Y):
            model = self._make(**group, seed=self._seed)
            model.fit(X[train], Y[train])
            scores[test] = model.decision_function(X[test])
        return scores


class Forest(CalibratedMethod):
    """A random forest for all labels, whose out-of-bag scores are used instead of cross-validation.

    The trees are regression trees. For targets of 0 and 1 they are classification trees, because the squared error is
    half the Gini index.
    """

    def __init__(self, seed: int) -> None:
        self._seed, self.parameters = seed, {}

    def fit(self, X: Any, Y: NDArray[Any]) -> "Forest":
        """Fit, and tune the decisions on out-of-bag scores."""
        n_trees = 200 if len(Y) <= MAX_SAMPLES_OF_MANY_TREES else 100
        forest = RandomForestRegressor(n_trees, max_features="sqrt", oob_score=True, random_state=self._seed)
        self._forest = forest.fit(_as_float32(X), Y.astype(np.float64))
        self._k = Y.shape[1]
        self.tune_decisions(forest.oob_prediction_.reshape(Y.shape), Y)
        return self

    def scores(self, X: Any) -> Scores:
        """Mean of the trees."""
        return np.asarray(self._forest.predict(_as_float32(X)).reshape(X.shape[0], self._k))


def _as_float32(X: Any) -> Any:
    return narrow_indices(X).astype(np.float32) if issparse(X) else X.astype(np.float32)


def _binary_relevance(C: float, seed: int) -> ScoringModel:
    return BinaryRelevance(C, random_state=seed)


def _mlknn(k: int, seed: int) -> ScoringModel:  # noqa: ARG001  # it is deterministic
    return MLkNN(k)


_C_GRID = tuple({"C": C} for C in (0.03, 0.1, 0.3, 1.0, 3.0))
_SCORING_MODELS: Mapping[str, tuple[Callable[..., ScoringModel], Sequence[Mapping[str, Any]]]] = {
    "br": (_binary_relevance, _C_GRID),
    "ecc": (ChainEnsemble, _C_GRID[1::2]),
    "mlknn": (_mlknn, ({"k": 10}, {"k": 30})),
    "boosting": (Boosting, ({},)),
    "lp": (Powersets, ({"C": 1.0}, {"C": 10.0})),
    "rakel": (Powersets, ({"C": 1.0, "labelset_size": 3}, {"C": 10.0, "labelset_size": 3})),
    "low_rank": (LowRankScores, ({},)),
    "trees": (ExtraTrees, ({},)),
    "lightgbm": (LightGBM, ({},)),
    "catboost": (CatBoost, ({},)),
    "boomer": (Boomer, ({},)),
}
_UNSCALED = ("forest", "boosting", "trees", "lightgbm", "catboost", "boomer")  # trees and rules accept any units


def make_compared_method(name: str, seed: int) -> TunedMethod | Forest:
    """Create a method by its name in the records."""
    return Forest(seed) if name == "forest" else TunedMethod(*_SCORING_MODELS[name.partition("-")[0]], seed)


def prepare_samples(name: str, X: Any, X_test: Any, choose_scaling: Callable[[Any], str]) -> tuple[Any, Any]:
    """Impute missing entries as the name of the method says, then scale the samples.

    Trees and rules accept any units, so their samples are not changed.
    """
    if name in _UNSCALED:
        return X, X_test
    if has_missing(X) or has_missing(X_test):
        imputer = KNNImputer() if name.endswith("-knn") else SimpleImputer()
        X, X_test = imputer.fit(X).transform(X), imputer.transform(X_test)
    scaling = ArraySamples(X).scaling(choose_scaling(X))
    return scaling.transform(X)[0], scaling.transform(X_test)[0]
