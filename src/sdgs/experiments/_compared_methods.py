"""Other methods at their best: parameters, calibration and decision found the same way as for SDGS.

A rival learns scores; to these is done what :class:`sdgs.SDGSClassifier` does to its own. Scores of training samples
come from models that were not learnt from them. They are calibrated, and labels are given by the set with the best
expected F1, as SDGS gives them, or by one threshold, whichever has the better F1 on these samples. So what is compared
is what methods know of the labels, not how well somebody chose a threshold for them. What one threshold alone gives is
kept as well.
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
from sdgs.methods import BinaryRelevance, MLkNN
from sdgs.readout._calibration import Calibration, calibrate
from sdgs.readout._decision import Decision, tuned_decision, value
from sdgs.readout._scaling import learn_scaling

Scores = NDArray[np.float64]
_MOST_ROWS = 5000  # that parameters are compared on
_MANY_LABELS = 60
_STOPS_EARLY = 20  # samples of a label for boosting to hold some out and stop when they get no better


class Scorer(Protocol):
    """Learns from samples and their labels to score new ones."""

    def fit(self, X: Any, Y: NDArray[Any]) -> Any:
        """Learn."""

    def decision_function(self, X: Any) -> Scores:
        """Score."""


class Chains:
    """An ensemble of classifier chains (Read et al., 2011) of linear SVMs, each on two thirds of the samples.

    A chain predicts one label after the other, in an order of its own, from the sample and the labels before.
    """

    def __init__(self, C: float, seed: int) -> None:
        self.C, self.seed = C, seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "Chains":
        """Learn every chain."""
        self._chains, self._k = [], Y.shape[1]
        self.n_chains = 10 if self._k <= _MANY_LABELS else 5  # a chain of many labels takes long
        size = min(_MOST_ROWS, max(1, 2 * len(Y) // 3))
        for i in range(self.n_chains):
            rng = np.random.default_rng([self.seed, i])
            rows = rng.choice(len(Y), size, replace=False)
            varied = np.flatnonzero(Y[rows].any(axis=0) & ~Y[rows].all(axis=0))
            if len(varied):
                svm = LinearSVC(C=self.C, random_state=self.seed)
                chain = ClassifierChain(svm, order=list(rng.permutation(len(varied))))
                self._chains.append((varied, chain.fit(X[rows], Y[rows][:, varied])))
        return self

    def decision_function(self, X: Any) -> Scores:
        """Mean over the chains of the margin of each label, counted up to 1 either way."""
        scores = np.full((X.shape[0], self._k), -1.0)
        for varied, chain in self._chains:
            scores[:, varied] += (1 + np.clip(chain.decision_function(X), -1, 1)) / self.n_chains
        return scores


class Boosting:
    """Histogram gradient boosting, one model a label. Takes missing entries."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "Boosting":
        """Learn every label."""
        self._models = []
        for column in Y.T:
            fewer = min(column.sum(), len(column) - column.sum())
            stop = bool(fewer >= _STOPS_EARLY)
            model = HistGradientBoostingClassifier(
                max_iter=100 if stop else 30, early_stopping=stop, n_iter_no_change=5, random_state=self.seed
            )
            self._models.append(model.fit(X, column) if fewer > 0 else float(column[0]))
        return self

    def decision_function(self, X: Any) -> Scores:
        """Log-odds; far out where a label did not vary."""
        columns = [
            np.full(X.shape[0], 10 * (2 * model - 1)) if isinstance(model, float) else model.decision_function(X)
            for model in self._models
        ]
        return np.asarray(np.clip(np.column_stack(columns), -10, 10))


class Decided:
    """What is done to a rival's scores."""

    _calibration: Calibration
    _decisions: dict[str, Decision]
    best_rule: str
    parameters: dict[str, Any]

    def decide_on(self, scores: Scores, Y: NDArray[Any]) -> float:
        """Calibrate scores of samples that they were not learnt from, and tune both decisions; the F1 of the better."""
        self._calibration = calibrate(scores, Y)
        P = self._calibration.probabilities(scores)
        at_least_one = bool(Y.any(axis=1).all())
        self._decisions = {
            rule: tuned_decision(rule, "f1", P, Y, at_least_one=at_least_one) for rule in ("expected", "threshold")
        }
        worth = {rule: value("f1", Y, decision.labels(P)) for rule, decision in self._decisions.items()}
        self.best_rule = max(worth, key=lambda rule: worth[rule])
        return worth[self.best_rule]

    def scores(self, X: Any) -> Scores:
        """Of new samples."""
        raise NotImplementedError

    def predict(self, X: Any) -> dict[str, NDArray[np.int64]]:
        """Labels of new samples, by either decision."""
        P = self._calibration.probabilities(self.scores(X))
        return {rule: decision.labels(P).astype(np.int64) for rule, decision in self._decisions.items()}


class Rival(Decided):
    """A method with parameters to choose from, made ready to predict."""

    def __init__(self, make: Callable[..., Scorer], groups: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._make, self._groups, self._seed = make, groups, seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "Rival":
        """Choose the parameters and the decision, and learn from all samples."""
        Y = np.asarray(Y)
        rows = np.arange(len(Y))
        if len(Y) > _MOST_ROWS:
            rows = np.sort(np.random.default_rng(self._seed).choice(len(Y), _MOST_ROWS, replace=False))
        scores: dict[int, Scores] = {}
        best = 0
        if len(self._groups) > 1:
            scores = {i: self._cross_fitted(X[rows], Y[rows], group) for i, group in enumerate(self._groups)}
            best = max(scores, key=lambda i: self.decide_on(scores[i], Y[rows]))
        self.parameters = dict(self._groups[best])
        of_all = scores[best] if scores and len(rows) == len(Y) else self._cross_fitted(X, Y, self.parameters)
        self.decide_on(of_all, Y)
        self._model = self._make(**self.parameters, seed=self._seed)
        self._model.fit(X, Y)
        return self

    def scores(self, X: Any) -> Scores:
        """Of new samples, from the model of all training samples."""
        return self._model.decision_function(X)

    def _cross_fitted(self, X: Any, Y: NDArray[Any], group: Mapping[str, Any]) -> Scores:
        scores = np.zeros(Y.shape)
        for kept, held in KFold(3, shuffle=True, random_state=self._seed).split(Y):
            model = self._make(**group, seed=self._seed)
            model.fit(X[kept], Y[kept])
            scores[held] = model.decision_function(X[held])
        return scores


class Forest(Decided):
    """A random forest for all labels at once, with the scores of samples that a tree did not see in place of folds.

    Trees on labels as numbers: the squared error of 0 and 1 is half the Gini index, so these are classification trees.
    """

    def __init__(self, seed: int) -> None:
        self._seed, self.parameters = seed, {}

    def fit(self, X: Any, Y: NDArray[Any]) -> "Forest":
        """Learn, and decide on what trees say of samples that they did not see."""
        trees = 200 if len(Y) <= _MOST_ROWS else 100
        forest = RandomForestRegressor(trees, max_features="sqrt", oob_score=True, random_state=self._seed)
        self._forest = forest.fit(_for_trees(X), Y.astype(np.float64))
        self._k = Y.shape[1]
        self.decide_on(forest.oob_prediction_.reshape(Y.shape), Y)
        return self

    def scores(self, X: Any) -> Scores:
        """Mean of the trees."""
        return np.asarray(self._forest.predict(_for_trees(X)).reshape(X.shape[0], self._k))


def _for_trees(X: Any) -> Any:
    return narrow_indices(X).astype(np.float32) if issparse(X) else X.astype(np.float32)


def _relevance(C: float, seed: int) -> Scorer:
    return BinaryRelevance(C, random_state=seed)


def _neighbours(k: int, seed: int) -> Scorer:  # noqa: ARG001  # nothing random in it
    return MLkNN(k)


_C = tuple({"C": C} for C in (0.03, 0.1, 0.3, 1.0, 3.0))


def make_rival(name: str, seed: int) -> Rival | Forest:
    """By its name in the records."""
    if name == "forest":
        return Forest(seed)
    made: dict[str, tuple[Callable[..., Scorer], Sequence[Mapping[str, Any]]]] = {
        "br": (_relevance, _C),
        "ecc": (Chains, _C[1::2]),
        "mlknn": (_neighbours, ({"k": 10}, {"k": 30})),
        "boosting": (Boosting, ({},)),
    }
    return Rival(*made[name.partition("-")[0]], seed)


def prepared(name: str, X: Any, X_test: Any, choose: Callable[[Any], str]) -> tuple[Any, Any]:
    """Samples as a rival takes them: gaps filled the way its name says, then scaled by what ``choose`` says of them.

    Trees take gaps, and columns in any units: they get the samples as they are.
    """
    if name in ("forest", "boosting"):
        return X, X_test
    if has_missing(X) or has_missing(X_test):
        imputer = KNNImputer() if name.endswith("-knn") else SimpleImputer()
        X, X_test = imputer.fit(X).transform(X), imputer.transform(X_test)
    scale = learn_scaling(X, choose(X))
    return scale(X)[0], scale(X_test)[0]
