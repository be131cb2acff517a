"""The estimator that finds its own parameters."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sdgs._utils._validation import check_int, check_number, has_missing, is_sparse, on_workers
from sdgs.estimators._classifier import HUBERS
from sdgs.estimators._sdgs_model import PENALTIES, SDGSModel, scalings_of
from sdgs.readout._features import PipelineParameters
from sdgs.readout._landmark_kernel import landmarks
from sdgs.readout._scaling import possible_scalings
from sdgs.selection._cross_fit import (
    MOST_ROWS,
    CVResult,
    coordinate_search,
    costs_of_a_search,
    relative_cost,
    rows_tried,
)

_RANKS = (2, 4, 8)
_ALPHAS = (0.05, 0.1, 0.2)
_GAMMA = {False: 2.0, True: 1.5}  # the latter for sparse samples
_LEVEL = 0.01  # settings that are worse by more than this are not averaged with the best
_NEAR = 2  # steps: how much further or less penalties go when settings are tried on more samples


class SDGSClassifierCV(SDGSModel):
    """SDGS that finds its parameters by cross-validation, and averages the best few settings.

    A setting is a scaling of the samples, a kernel or none, a weight of the residual, a rank and a weight of the group
    penalty; the parameters of :class:`SDGSClassifier`, which says what each means. The search begins at that class's
    defaults and goes along one parameter after the other, in this order, as far as predictions get better. Every
    setting is tried with all ridge penalties, on the same folds, and settings that differ in ``alpha`` alone share
    their decompositions. Then the best ``n_averaged`` settings are fitted to all samples, as far as ``budget`` allows
    and they are about as good as the best. What they say on average is calibrated and decided on, as for one.

    Parameters
    ----------
    n_components : int, sequence of ints or "auto", default="auto"
        Dimensions of the labels' subspaces to choose from, in order. ``"auto"`` is 2, 4 and 8, but 8 only if the
        subspaces together then have no more dimensions than there are features, or than a tenth of the samples.
    alphas : float, sequence of floats or "auto", default="auto"
        Weights of the group penalty to choose from, in order. ``"auto"`` is 0.05, 0.1 and 0.2.
    hubers : float, None, sequence of such, or "auto", default="auto"
        Weights of the residual to choose from, in order. ``"auto"`` is None, 0.05 and 0.025 for dense samples, and
        None alone for sparse ones.
    gammas : float, None, sequence of such, or "auto", default="auto"
        Kernels to choose from, in order. ``"auto"`` is None and 2 for dense samples, None and 1.5 for sparse ones.
    penalties : float or sequence of floats, default=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
        Ridge penalties to choose from.
    scaling : {"auto", "rows", "columns", "idf", None}, default="auto"
        How samples are made comparable. ``"auto"`` tries what may suit them: ``"idf"`` and ``"rows"`` for sparse
        ones, ``"rows"`` and ``"columns"`` for dense ones; but only ``"columns"`` for dense ones of which a feature is
        often negative, and only ``"rows"`` for sparse ones with missing entries.
    n_averaged : int, default=3
        Settings that are averaged, if as many are within a point of the best. Prediction takes as many times as long.
        With kernels each has landmarks of its own where there are more samples than ``max_rows``.
    budget : float, default=10
        Most that is spent, in fits of :class:`SDGSClassifier` with its defaults to the same samples; by a rule of
        thumb, so that results do not depend on the clock. At least one setting is tried and fitted.
    max_rows : int, default=3000
        Samples that settings are tried on, at most; drawn at random. Then the settings that are averaged are tried on
        all of them, or 50,000, with labels read from no more parts than before and penalties near those that were best.
    residual_size, n_landmarks, metric, decision, at_least_one, cv, solver, max_iter, tol, random_state, n_jobs
        As for :class:`SDGSClassifier`.
    verbose : int, default=0
        If not 0, a line on standard error for each setting that is tried.
    checkpoint : str, Path or None, default=None
        As for :class:`SDGSClassifier`.

    Attributes
    ----------
    cv_results_ : dict of lists
        For each setting that was tried: ``params``, ``score`` (``metric`` in cross-validation, less the loss for the
        Hamming loss), ``penalty``, ``read_from``, ``seconds``, and ``averaged``, whether it is one of the best.
    best_score_ : float
        That of the setting where the search ended, on the samples that it was tried on.
    best_params_ : dict
        That setting. Another may have scored higher by less than a tenth of a point.
    scaling_, huber_, gamma_, n_components_, alpha_, penalty_, read_from_
        The same, one by one.
    decomposition_, components_, scaler_, n_iter_
        Of the best setting, as for :class:`SDGSClassifier`; so are ``transform`` and ``contributions``.
    classes_, n_features_in_, feature_names_in_
        As for :class:`SDGSClassifier`.

    Examples
    --------
    >>> from sdgs import SDGSClassifierCV
    >>> from sdgs.datasets import make_composite_digits
    >>> train = make_composite_digits(500, max_labels=2, subset="train", random_state=0)
    >>> model = SDGSClassifierCV(budget=3, random_state=0).fit(train.X, train.Y)
    >>> model.scaling_
    'rows'
    """

    def __init__(
        self,
        *,
        n_components: int | Sequence[int] | str = "auto",
        alphas: float | Sequence[float] | str = "auto",
        hubers: float | Sequence[float | None] | str | None = "auto",
        gammas: float | Sequence[float | None] | str | None = "auto",
        penalties: float | Sequence[float] = PENALTIES,
        scaling: str | None = "auto",
        n_averaged: int = 3,
        budget: float = 10,
        max_rows: int = 3000,
        residual_size: int | float = 1e-4,
        n_landmarks: int | str = "auto",
        metric: str = "f1",
        decision: str | float | Sequence[float] = "expected",
        at_least_one: bool | str = "auto",
        cv: int = 3,
        solver: str = "brp",
        max_iter: int = 100,
        tol: float = 1e-2,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.n_components = n_components
        self.alphas = alphas
        self.hubers = hubers
        self.gammas = gammas
        self.penalties = penalties
        self.scaling = scaling
        self.n_averaged = n_averaged
        self.budget = budget
        self.max_rows = max_rows
        self.residual_size = residual_size
        self.n_landmarks = n_landmarks
        self.metric = metric
        self.decision = decision
        self.at_least_one = at_least_one
        self.cv = cv
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _fit(self, X: Any, labels: Any) -> None:
        self._check_thresholds(labels.shape[1])
        labels, scalings, training = labels.tocsr(), scalings_of(X), self._training()
        n, k = labels.shape
        penalties = tuple(sorted(_given(self.penalties, ())))
        cross_fit = self._cross_fit(X, labels, scalings, training, penalties, most=self.max_rows)
        axes = self._axes(X, k)
        start = PipelineParameters(**{name: _first(name, values) for name, values in axes})
        rows, of_fit = cross_fit.rows.size, rows_tried(n, k, len(PENALTIES))
        trying, fitting = costs_of_a_search(n, rows, of_fit, self.cv, sparse=is_sparse(X))
        spent, seconds = 0.0, list[float]()

        def cost_of(setting: PipelineParameters, learnt_from: int) -> float:
            sparse = is_sparse(X)
            number = landmarks(self.n_landmarks, learnt_from, sparse=sparse)
            return relative_cost(setting, k, X.shape[1], number, sparse=sparse)

        def cost_to_try(setting: PipelineParameters) -> float:
            return float(trying * cost_of(setting, cross_fit.rows.size * (self.cv - 1) // self.cv))

        def cost_to_fit(setting: PipelineParameters) -> float:
            return fitting * cost_of(setting, n)

        complete = not on_workers(X) and not has_missing(X)

        def worth_it(setting: PipelineParameters, best: CVResult) -> bool:
            """Whether it matters, and could be used if it turns out to be the best, and averaged with simple ones."""
            unread = best.setting.gamma is not None and "code" not in best.read_from
            if unread and complete and setting.huber is None and _but_codes(setting) == _but_codes(best.setting):
                return False
            others = min(self.n_averaged - 1, len(seconds))
            cost = cost_to_try(setting) + cost_to_fit(setting) + fitting * others
            return bool(spent + cost <= self.budget)

        def attempt(setting: PipelineParameters) -> CVResult:
            nonlocal spent
            cost = cost_to_try(setting)
            spent += cost
            began = perf_counter()
            with choosing.part("setting", n_parts=self.cv + 1, share=cost / self.budget) as task:
                trial = cross_fit(setting, task)
            seconds.append(perf_counter() - began)
            choosing.say(f"{self.metric} {abs(trial.value):.3f}")
            if self.verbose:
                chosen = ", ".join(f"{name}={value}" for name, value in setting.parameters().items())
                sys.stderr.write(f"{spent:.1f} of {self.budget:g} fits: {chosen}: ")
                sys.stderr.write(f"{self.metric} {abs(trial.value):.4f} ({seconds[-1]:.1f} s)\n")
            return trial

        with self._task.part("choose", n_parts=None, share=0.75) as choosing:
            first, tried = coordinate_search(start, axes, attempt, worth_it)
        costs = [cost_to_fit(trial.setting) for trial in tried]
        ranked = self._to_average(first, tried, costs, self.budget - spent)
        best = [tried[i] for i in ranked]
        self.cv_results_: dict[str, list[Any]] = {
            "params": [trial.setting.parameters() for trial in tried],
            "score": [trial.value for trial in tried],
            "penalty": [trial.penalty for trial in tried],
            "read_from": [trial.read_from for trial in tried],
            "seconds": seconds,
            "averaged": [i in ranked for i in range(len(tried))],
        }
        self.best_score_, self.best_params_ = first.value, first.setting.parameters()
        again = cross_fit.rows.size < n
        with self._task.part("learn", n_parts=(1 + again) * len(best), share=0.25) as learning:
            if again:
                places = [penalties.index(trial.penalty) for trial in best]
                near = penalties[max(min(places) - _NEAR, 0) : max(places) + _NEAR + 1]
                on_all = self._cross_fit(X, labels, scalings, training, near, most=max(self.max_rows, MOST_ROWS))
                drawn = [replace(trial, setting=replace(trial.setting, draw=i)) for i, trial in enumerate(best)]
                best = [on_all(t.setting, parts=t.read_from) for t in learning.each("choose again", drawn)]
            self._read_out(X, labels, scalings, training, best, learning)
        self._set_attributes()
        setting = best[0].setting
        self.gamma_, self.n_components_, self.alpha_ = setting.gamma, setting.n_components, setting.alpha

    def _to_average(self, first: CVResult, tried: list[CVResult], costs: list[float], left: float) -> list[int]:
        """Where the search ended, and after it the best settings that are about as good, as far as the budget goes."""
        ranked: list[int] = []
        for i in sorted(range(len(tried)), key=lambda i: (tried[i] is not first, -tried[i].value)):
            level = tried[i].value >= first.value - _LEVEL and costs[i] <= left
            if not ranked or (level and len(ranked) < self.n_averaged):
                ranked.append(i)
                left -= costs[i]
        return ranked

    def _axes(self, X: Any, n_labels: int) -> list[tuple[str, tuple[Any, ...]]]:
        """What is chosen from, parameter by parameter, in the order of the search.

        What no linear method can tell apart may look corrupted to it: so kernels come before ``huber``.
        """
        ranks = tuple(rank for rank in _RANKS if rank <= 4 or rank * n_labels <= max(X.shape[1], X.shape[0] / 10))
        # Entries of sparse data are words and the like: few, and none of them wild. So no huber for them.
        return [
            ("scaling", possible_scalings(X) if self.scaling == "auto" else (self.scaling,)),
            ("gamma", _given(self.gammas, (None,) if on_workers(X) else (None, _GAMMA[is_sparse(X)]))),
            ("huber", _given(self.hubers, (None,) if is_sparse(X) else HUBERS)),
            ("n_components", _given(self.n_components, ranks)),
            ("alpha", _given(self.alphas, _ALPHAS)),
        ]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_int(self.n_averaged, "n_averaged", minimum=1)
        check_int(self.max_rows, "max_rows", minimum=1)
        check_number(self.budget, "budget", positive=True)
        _check_values(self.n_components, "n_components", check_int, minimum=1)
        _check_values(self.alphas, "alphas", check_number, positive=True)
        _check_values(self.hubers, "hubers", check_number, none=True, positive=True)
        _check_values(self.gammas, "gammas", check_number, none=True, positive=True)
        _check_values(self.penalties, "penalties", check_number, auto=False, positive=True)


def _given(values: Any, default: tuple[Any, ...]) -> tuple[Any, ...]:
    if isinstance(values, str):
        return default
    return tuple(values) if np.ndim(values) else (values,)


def _but_codes(setting: PipelineParameters) -> PipelineParameters:
    """Without what only codes depend on."""
    return replace(setting, n_components=0, alpha=0.0)


def _first(name: str, values: tuple[Any, ...]) -> Any:
    """Where the search begins: at the default of SDGSClassifier, if it may."""
    usual = {"huber": None, "gamma": None, "n_components": 4, "alpha": 0.1}
    return usual[name] if name in usual and usual[name] in values else values[0]


def _check_values(
    values: Any, name: str, check: Callable[..., Any], *, auto: bool = True, none: bool = False, **options: Any
) -> None:
    """One value or a sequence of different ones, each of which passes ``check``; or "auto"; and one may be None."""
    if auto and isinstance(values, str) and values == "auto":
        return
    several = _given(values, ())
    if isinstance(values, str) or np.ndim(values) > 1 or len(several) == 0 or len(set(several)) < len(several):
        what = 'a value, a sequence of different values, or "auto"' if auto else "a sequence of different values"
        raise ValueError(f"{name} must be {what}; got {values!r}.")
    for value in several:
        if not (none and value is None):
            check(value, name, **options)
