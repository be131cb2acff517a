"""Models for the comparison beyond the paper whose scores are log-odds: label sets, trees, boosting, a linear method.

LightGBM, CatBoost and BOOMER are optional: the extra ``rivals``.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.special import expit
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression

from sdgs._utils._row_norms import narrow_indices
from sdgs.methods import LabelPowerset, RAkEL, SparseLowRank
from sdgs.readout._calibration import shrunk_log_odds

Scores = NDArray[np.float64]
OPTIONAL_PACKAGES: Mapping[str, str] = {"lightgbm": "lightgbm", "catboost": "catboost", "boomer": "mlrl"}
MAX_SAMPLES_OF_MANY_TREES = 5000
_CATBOOST = {"iterations": 100, "learning_rate": 0.1}  # as LightGBM has by default; 1,000 trees take too long


def is_installed(method: str) -> bool:
    """Whether the package of an optional method is there; True for all others."""
    return method not in OPTIONAL_PACKAGES or find_spec(OPTIONAL_PACKAGES[method]) is not None


class ProbabilityModel:
    """Base of models of probabilities, whose scores are log-odds, shrunk as by two more samples."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "ProbabilityModel":
        """Fit to samples and labels."""
        self._shrinkage = 2 / (len(Y) + 2)
        self._fit(as_matrix(X), np.asarray(Y, dtype=np.int64))
        return self

    def decision_function(self, X: Any) -> Scores:
        """Log-odds of each label."""
        return shrunk_log_odds(np.clip(self._probabilities(as_matrix(X)), 0.0, 1.0), self._shrinkage)

    def _fit(self, X: Any, Y: NDArray[np.int64]) -> None:
        raise NotImplementedError

    def _probabilities(self, X: Any) -> Scores:
        raise NotImplementedError


class Powersets(ProbabilityModel):
    """Label powerset, or with ``labelset_size`` RAkEL, with logistic regression."""

    def __init__(self, C: float, seed: int, labelset_size: int | None = None) -> None:
        super().__init__(seed)
        self.C, self.labelset_size = C, labelset_size

    def _fit(self, X: Any, Y: NDArray[np.int64]) -> None:
        base = LogisticRegression(C=self.C, max_iter=1000)
        if self.labelset_size is None:
            model: Any = LabelPowerset(base, random_state=self.seed)
        else:
            size = min(self.labelset_size, Y.shape[1])
            model = RAkEL(base, labelset_size=size, average="marginals", random_state=self.seed)
        self._model = model.fit(X, Y)

    def _probabilities(self, X: Any) -> Scores:
        return np.asarray(self._model.predict_proba(X))


class LowRankScores:
    """Sparse + low-rank regression with its defaults; its scores are near 0 and 1."""

    def __init__(self, seed: int) -> None:  # it is deterministic
        self.seed = seed

    def fit(self, X: Any, Y: NDArray[Any]) -> "LowRankScores":
        """Fit to samples and labels."""
        self._model = SparseLowRank().fit(X, Y)
        return self

    def decision_function(self, X: Any) -> Scores:
        """Scores of each label."""
        return np.asarray(self._model.decision_function(X))


class ExtraTrees(ProbabilityModel):
    """Extremely randomised trees for all labels. The squared error of 0 and 1 is half the Gini index."""

    def _fit(self, X: Any, Y: NDArray[np.int64]) -> None:
        n_trees = 300 if len(Y) <= MAX_SAMPLES_OF_MANY_TREES else 100
        trees = ExtraTreesRegressor(n_trees, max_features="sqrt", random_state=self.seed)
        self._k, self._model = Y.shape[1], trees.fit(X, Y)

    def _probabilities(self, X: Any) -> Scores:
        return np.asarray(self._model.predict(X)).reshape(-1, self._k)


class LightGBM(ProbabilityModel):
    """LightGBM with its defaults, one model per label."""

    def _fit(self, X: Any, Y: NDArray[np.int64]) -> None:
        from lightgbm import LGBMClassifier

        self._models = []
        for y in Y.T:
            model = LGBMClassifier(random_state=self.seed, n_jobs=1, verbose=-1)
            self._models.append(model.fit(X, y) if y.min() < y.max() else float(y[0]))

    def _probabilities(self, X: Any) -> Scores:
        columns = [
            np.full(X.shape[0], model) if isinstance(model, float) else model.predict_proba(X)[:, 1]
            for model in self._models
        ]
        return np.column_stack(columns)


class CatBoost(ProbabilityModel):
    """CatBoost with one model for all labels that are not constant."""

    def _fit(self, X: Any, Y: NDArray[np.int64]) -> None:
        from catboost import CatBoostClassifier

        self._constant = Y[0].astype(np.float64)
        self._learnt = np.flatnonzero(Y.min(axis=0) < Y.max(axis=0))
        self._model = None
        if self._learnt.size:
            one = self._learnt.size == 1
            model = CatBoostClassifier(
                **_CATBOOST,
                loss_function="Logloss" if one else "MultiLogloss",
                random_seed=self.seed,
                thread_count=1,
                verbose=False,
                allow_writing_files=False,
            )
            self._model = model.fit(X, Y[:, self._learnt[0]] if one else Y[:, self._learnt])

    def _probabilities(self, X: Any) -> Scores:
        P = np.tile(self._constant, (X.shape[0], 1))
        if self._model is not None:
            raw = np.asarray(self._model.predict(X, prediction_type="RawFormulaVal", thread_count=1))
            P[:, self._learnt] = expit(raw.reshape(X.shape[0], -1))
        return P


class Boomer(ProbabilityModel):
    """BOOMER with its defaults: boosted rules for all labels.

    It does not get constant features: a rule considers a few random features, and learning ends if all are constant.
    """

    def _fit(self, X: Any, Y: NDArray[np.int64]) -> None:
        from mlrl.boosting import BoomerClassifier

        one_thread = dict.fromkeys(
            ("parallel_rule_refinement", "parallel_statistic_update", "parallel_prediction"), "false"
        )
        spread = X.max(axis=0) - X.min(axis=0)
        self._varying = np.flatnonzero(np.asarray(spread.toarray() if issparse(spread) else spread).ravel())
        self._model = BoomerClassifier(random_state=self.seed + 1, **one_thread)  # seeds start at 1 there
        self._model.fit(X[:, self._varying], Y)

    def _probabilities(self, X: Any) -> Scores:
        P = self._model.predict_proba(X[:, self._varying])
        return np.asarray(P.toarray() if issparse(P) else P, dtype=np.float64)


def as_matrix(X: Any) -> Any:
    """Sparse samples as a matrix with 32-bit indices, because CatBoost takes nothing else; others as they are."""
    return csr_matrix(narrow_indices(X)) if issparse(X) else np.asarray(X)
