"""AveragingClassifier: the average of several classifiers, with calibrated probabilities and tuned decisions."""

from collections import Counter
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import _name_estimators

from sdgs._utils._validation import check_choice, check_number
from sdgs.estimators._cross_fitted import CrossFittedClassifier
from sdgs.estimators._label_scores import Scores
from sdgs.readout._calibrated_average import CalibratedAverage, fit_average
from sdgs.readout._decision import Decision


class AveragingClassifier(CrossFittedClassifier):
    r"""The average of several classifiers, with calibrated probabilities and tuned decisions.

    Classifiers that learn in different ways make different mistakes, so their average is often better than the best of
    them. Each classifier m is cross-fitted and calibrated as in :class:`DecisionClassifier`, which gives log-odds
    :math:`l_m` of the training samples' labels. They are averaged,

    .. math:: l = \sum_m w_m l_m, \qquad w_m \ge 0, \qquad \sum_m w_m = 1,

    with one weight per classifier for all labels, and calibrated once more. Then labels are decided on as by
    :class:`DecisionClassifier`.

    The weights are the mean of two: those with the smallest log loss; and, on the lines from these to each single
    classifier, those with the best ``metric`` of the training samples' labels. The former do not aim at the metric, and
    the latter are noisy.

    A fit takes ``cv`` + 1 fits of each classifier, and a prediction one of each.

    Parameters
    ----------
    estimators : list of (str, classifier) or list of classifiers
        Those that :class:`DecisionClassifier` takes, with names or without; names are generated as by
        :func:`sklearn.pipeline.make_pipeline`. They need no
        ``DecisionClassifier`` around them, which would be fitted ``cv`` + 1 times itself.
    weights : "auto" or sequence of floats, default="auto"
        ``"auto"``: found by cross-fitting, as above. Given ones are scaled so that they sum to 1.
    metric, decision, at_least_one, label_weight, cv, random_state, n_jobs
        As of :class:`DecisionClassifier`.

    Attributes
    ----------
    estimators_ : list of classifiers
        Fitted to all samples: see ``estimator_`` of :class:`DecisionClassifier`.
    weights_ : ndarray of shape (n_classifiers,)
    classes_ : ndarray of shape (k,)
    out_of_fold_probabilities_ : ndarray of shape (m, k)
    out_of_fold_rows_ : ndarray of shape (m,)
        As of :class:`DecisionClassifier`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``X`` is a DataFrame whose column names are strings.

    See Also
    --------
    sklearn.ensemble.VotingClassifier : Averages probabilities, for one class per sample.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sdgs import AveragingClassifier, SDGSClassifier
    >>> from sdgs.datasets import make_composite_digits
    >>> train = make_composite_digits(400, max_labels=2, subset="train", random_state=0)
    >>> classifiers = [SDGSClassifier(random_state=0), ExtraTreesClassifier(random_state=0)]
    >>> model = AveragingClassifier(classifiers, random_state=0).fit(train.X, train.Y)
    >>> model.weights_.shape, model.predict(train.X[:5]).shape
    ((2,), (5, 10))
    """

    def __init__(
        self,
        estimators: Any,
        *,
        weights: Any = "auto",
        metric: str = "f1",
        decision: Any = "expected",
        at_least_one: Any = "auto",
        label_weight: Any = None,
        cv: Any = 3,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.metric = metric
        self.decision = decision
        self.at_least_one = at_least_one
        self.label_weight = label_weight
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _named_estimators(self) -> list[tuple[str, Any]]:
        if isinstance(self.estimators, str | dict) or not hasattr(self.estimators, "__iter__"):
            raise ValueError(
                f"estimators must be a list of classifiers, with names or without, got {self.estimators!r}."
            )
        items = list(self.estimators)
        if not any(isinstance(item, tuple) for item in items):
            return list(_name_estimators(items))
        if not all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in items):
            raise ValueError("estimators must all be (name, classifier), or all be without a name.")
        return items

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with ``deep`` also the classifiers by their names, and theirs as ``name__parameter``."""
        params: dict[str, Any] = super().get_params(deep=False)
        named: list[tuple[str, Any]] = []
        with suppress(ValueError):  # scikit-learn asks for parameters that have not been checked yet
            named = self._named_estimators() if deep else []
        for name, estimator in named:
            params[name] = estimator
            if hasattr(estimator, "get_params") and not isinstance(estimator, type):
                params |= {f"{name}__{key}": value for key, value in estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, classifiers by their names, and parameters of theirs as ``name__parameter``."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        own = super().get_params(deep=False)
        names = [name for name in params if name not in own and "__" not in name]
        if names:
            named = dict(self._named_estimators())
            for name in names:
                if name in named:
                    named[name] = params.pop(name)
            has_names = isinstance(next(iter(self.estimators)), tuple)
            self.estimators = list(named.items()) if has_names else list(named.values())
        super().set_params(**params)
        return self

    def _set_attributes(self) -> None:
        self.estimators_ = [scorer.estimator for scorer in self._scorers]
        self.weights_ = self._average.weights

    def _fit_average(
        self,
        scores: list[Scores],
        Y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        *,
        at_least_one: bool,
    ) -> CalibratedAverage:
        decision = Decision(self.metric, at_least_one, top=1 if self._is_multiclass else None)
        if isinstance(self.weights, str):
            return fit_average(scores, Y, decision, sample_weight=sample_weight)
        weights = np.asarray(self.weights, dtype=np.float64)
        with np.errstate(over="ignore"):
            total = weights.sum()
        if np.isinf(total):  # of weights near the largest number there is
            weights = weights / weights.max()
            total = weights.sum()
        return fit_average(scores, Y, decision, weights / total, sample_weight=sample_weight)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        names = [name for name, _ in self._named_estimators()]
        if not names:
            raise ValueError("estimators must hold at least one classifier.")
        own, counts = {*super().get_params(deep=False)}, Counter(names)
        for name in names:
            if counts[name] > 1 or name in own or "__" in name:
                raise ValueError(
                    f"estimators has the name {name!r}, which is a parameter, occurs twice or contains '__'. Rename it."
                )
        if isinstance(self.weights, str):
            check_choice(self.weights, "weights", ("auto",))
            return
        if np.shape(self.weights) != (len(names),):
            raise ValueError(f'weights must be "auto" or have one number for each of the {len(names)} classifiers.')
        if sum(check_number(weight, "weights") for weight in self.weights) == 0:
            raise ValueError("weights must not all be 0.")
