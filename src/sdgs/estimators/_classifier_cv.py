"""SDGSClassifierCV: parameters found by cross-validation, and several pipelines averaged."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sdgs._utils._progress import Task
from sdgs._utils._validation import check_int, check_number
from sdgs.estimators._sdgs_model import SDGSModel
from sdgs.readout._parameters import PipelineParameters
from sdgs.readout._pipeline import ReadoutContext
from sdgs.readout._samples import Samples
from sdgs.readout._scaling import suitable_scalings
from sdgs.selection import _defaults as defaults
from sdgs.selection._budgeted_search import BudgetedSearch, select_averaged
from sdgs.selection._candidate import CVResult
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._cost_model import CostModel


class SDGSClassifierCV(SDGSModel):
    """SDGS with parameters found by cross-validation, averaged over the best few candidates.

    A candidate is a scaling, a kernel or none, a weight of the residual, a rank and a weight of the group penalty: the
    parameters of :class:`SDGSClassifier`, where they are described. The search starts at that class's defaults and goes
    along one parameter after the other, in this order, while predictions improve. Candidates are evaluated on the same
    folds. Those that differ in ``alpha`` alone share their decompositions, those that differ in ``gamma`` alone their
    codes, and each starts its search for a ridge penalty at that of the candidate before. Then the best ``n_averaged``
    candidates are fitted to all samples, if they are about as good as the best and the limits allow it. Their average
    score is calibrated and decided on as for one.

    Parameters
    ----------
    n_components : int, sequence of ints or "auto", default="auto"
        Dimensions of the labels' subspaces to choose from, in order. ``"auto"`` is 2, 4 and 8, but 8 only if all
        subspaces together then have at most p or n / 10 dimensions.
    alphas : float, sequence of floats or "auto", default="auto"
        Weights of the group penalty to choose from, in order. ``"auto"`` is 0.05, 0.1 and 0.2.
    hubers : float, None, sequence of such, or "auto", default="auto"
        Weights of the residual to choose from, in order. ``"auto"`` is None, 0.05 and 0.025 for dense samples, and
        None for sparse ones.
    gammas : float, None, sequence of such, or "auto", default="auto"
        Kernels to choose from, in order. ``"auto"`` is None and 2 for dense samples, None and 1.5 for sparse ones.
    penalties : float or sequence of floats, default=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
        Ridge penalties to choose from.
    scaling : {"auto", "rows", "columns", "idf", None}, default="auto"
        How samples are scaled. ``"auto"`` tries ``"idf"`` and ``"rows"`` for sparse samples, ``"rows"`` and
        ``"columns"`` for dense ones; but only ``"columns"`` for dense samples with a feature that is negative in more
        than 20 % of its entries, and only ``"rows"`` for sparse ones with missing entries.
    n_averaged : int, default=3
        Maximum number of averaged candidates; each is within a point of the best. Prediction takes as many times as
        long. With kernels each has its own landmarks if there are more samples than ``max_rows``.
    budget : float or None, default=10
        Maximum cost, in fits of :class:`SDGSClassifier` to the same samples with its defaults and ``gamma=None``; by a
        cost model, so that results do not depend on the clock. None is no limit.
    time_limit : float or None, default=None
        Maximum time of the search and the fits after it, in seconds; None is no limit. Before each candidate the time
        that it takes, and that of the fits that remain, is predicted by the cost model at the speed so far. Whether
        more candidates are tried then depends on the clock. Whatever ``budget`` and ``time_limit`` are, one candidate
        is evaluated and fitted.
    max_rows : int, default=3000
        Maximum number of samples that candidates are evaluated on, drawn at random. If there are more, those to be
        averaged are evaluated once more on up to 50,000, with the feature blocks that were chosen before or fewer, and
        with penalties near the best.
    n_landmarks : int or "auto", default="auto"
        Maximum number of landmarks of a kernel. ``"auto"``, for n samples: dense n/2, clipped to [1500, 3000], for
        large n n/7 up to 4500; sparse n/4, clipped to [500, 2000].
    residual_size, encode, assume, propensity, metric, decision, at_least_one, label_weight, cv
        As for :class:`SDGSClassifier`.
    solver, max_iter, tol, random_state, n_jobs
        As for :class:`SDGSClassifier`.
    verbose : int, default=0
        If not 0, one line per candidate on standard error.
    checkpoint : str, Path or None, default=None
        As for :class:`SDGSClassifier`.

    Attributes
    ----------
    cv_results_ : dict of lists
        For each candidate: ``params``, ``score`` (``metric`` in cross-validation, negative for the Hamming loss),
        ``penalty``, ``read_from``, ``seconds``, and ``averaged``, whether it is one of the averaged ones.
    best_score_ : float
        The score of the candidate where the search ended, on the samples that it was evaluated on.
    best_params_ : dict
        That candidate. Another may have scored higher by less than a tenth of a point.
    scaling_, huber_, gamma_, n_components_, alpha_, penalty_, read_from_
        The same, one by one.
    decomposition_, components_, scaler_, n_iter_
        Those of the best candidate, as for :class:`SDGSClassifier`; ``transform`` and ``contributions`` use it too.
    out_of_fold_probabilities_, out_of_fold_rows_
        As for :class:`SDGSClassifier`, of the averaged candidates; with more than ``max_rows`` samples, of those that
        they were evaluated on again.
    classes_, encoder_, n_features_in_, feature_names_in_
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
        penalties: float | Sequence[float] = defaults.PENALTIES,
        scaling: str | None = "auto",
        encode: Any = "auto",
        assume: str = "negative",
        propensity: Any = "auto",
        n_averaged: int = 3,
        budget: float | None = 10,
        time_limit: float | None = None,
        max_rows: int = 3000,
        residual_size: int | float = 1e-4,
        n_landmarks: int | str = "auto",
        metric: str = "f1",
        decision: str | float | Sequence[float] = "expected",
        at_least_one: bool | str = "auto",
        label_weight: Any = None,
        cv: Any = 3,
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
        self.encode = encode
        self.assume = assume
        self.propensity = propensity
        self.n_averaged = n_averaged
        self.budget = budget
        self.time_limit = time_limit
        self.max_rows = max_rows
        self.residual_size = residual_size
        self.n_landmarks = n_landmarks
        self.metric = metric
        self.decision = decision
        self.at_least_one = at_least_one
        self.label_weight = label_weight
        self.cv = cv
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _fit_samples(self, samples: Samples, labels: Any) -> None:
        (n, p), k = samples.shape, labels.shape[1]
        context = self._context(samples, labels)
        penalties = tuple(sorted(_as_tuple(self.penalties, ())))
        evaluator = CandidateEvaluator(samples, labels, context, penalties, self.max_rows)
        n_landmarks = context.options.n_landmarks
        costs = CostModel((n, p, k), evaluator.rows.size, context.n_folds, n_landmarks, samples.is_sparse)
        complete = not samples.column_statistics.missing
        search = BudgetedSearch(evaluator, costs, self.budget, self.time_limit, self.n_averaged, complete)
        axes = self._axes(samples, k)
        start = PipelineParameters(**{name: _start_value(name, values) for name, values in axes})
        with self._task.part("choose", n_parts=None, share=0.75) as task:
            best, results = search.run(start, axes, task, lambda result: self._report(search, result, task))
        fit_costs = [costs.fit_cost(result.parameters) for result in results]
        averaged = select_averaged(best, results, fit_costs, search.left, self.n_averaged)
        self._set_results(best, results, search.seconds, averaged)
        averaged_results = [results[i] for i in averaged]
        evaluate_again = evaluator.rows.size < n
        with self._task.part("learn", n_parts=(1 + evaluate_again) * len(averaged), share=0.25) as task:
            if evaluate_again:
                averaged_results = self._evaluate_again(samples, labels, context, penalties, averaged_results, task)
            self._fit_pipelines(samples, labels, context, averaged_results, task)
        parameters = averaged_results[0].parameters
        self.n_components_, self.alpha_ = parameters.n_components, parameters.alpha

    def _max_landmarks(self, samples: Samples) -> int | str:
        return "many" if self.n_landmarks == "auto" and not samples.is_sparse else self.n_landmarks

    def _report(self, search: BudgetedSearch, result: CVResult, task: Task) -> None:
        task.report(f"{self.metric} {abs(result.value):.3f}")
        if self.verbose:
            parameters = ", ".join(f"{name}={value}" for name, value in result.parameters.as_dict().items())
            limit = "" if self.budget is None else f" of {self.budget:g}"
            sys.stderr.write(f"{search.spent:.1f}{limit} fits: {parameters}: ")
            sys.stderr.write(f"{self.metric} {abs(result.value):.4f} ({search.seconds[-1]:.1f} s)\n")

    def _set_results(self, best: CVResult, results: list[CVResult], seconds: list[float], averaged: list[int]) -> None:
        self.cv_results_: dict[str, list[Any]] = {
            "params": [result.parameters.as_dict() for result in results],
            "score": [result.value for result in results],
            "penalty": [result.choice.penalty for result in results],
            "read_from": [result.choice.read_from for result in results],
            "seconds": seconds,
            "averaged": [i in averaged for i in range(len(results))],
        }
        self.best_score_, self.best_params_ = best.value, best.parameters.as_dict()

    def _evaluate_again(
        self,
        samples: Samples,
        labels: Any,
        context: ReadoutContext,
        penalties: tuple[float, ...],
        results: list[CVResult],
        task: Task,
    ) -> list[CVResult]:
        """The candidates evaluated on more samples, each with its own landmarks and from its penalty on."""
        evaluator = CandidateEvaluator(samples, labels, context, penalties, max(self.max_rows, defaults.MAX_CV_SAMPLES))
        return [
            evaluator.evaluate(
                replace(result.parameters, landmark_draw=i),
                max_blocks=result.choice.read_from,
                start=result.choice.penalty,
            )
            for i, result in task.each("choose again", list(enumerate(results)))
        ]

    def _axes(self, samples: Samples, n_labels: int) -> list[tuple[str, tuple[Any, ...]]]:
        """The values of each parameter, in the order of the search.

        Kernels come before ``huber``, because to a linear method labels that it cannot separate look like corruption.
        """
        n, p = samples.shape
        ranks = tuple(
            rank
            for rank in defaults.RANKS
            if rank <= defaults.MAX_UNCONDITIONAL_RANK
            or rank * n_labels <= max(p, n / defaults.MIN_SAMPLES_PER_DIMENSION)
        )
        gammas = (
            (None, defaults.SPARSE_GAMMA if samples.is_sparse else defaults.DENSE_GAMMA)
            if samples.supports_kernel
            else (None,)
        )
        # Entries of sparse data are counts of words and the like: few, and not corrupted.
        hubers = (None,) if samples.is_sparse else defaults.HUBERS
        scalings = suitable_scalings(samples.column_statistics) if self.scaling == "auto" else (self.scaling,)
        return [
            ("scaling", scalings),
            ("gamma", _as_tuple(self.gammas, gammas)),
            ("huber", _as_tuple(self.hubers, hubers)),
            ("n_components", _as_tuple(self.n_components, ranks)),
            ("alpha", _as_tuple(self.alphas, defaults.ALPHAS)),
        ]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_int(self.n_averaged, "n_averaged", minimum=1)
        check_int(self.max_rows, "max_rows", minimum=1)
        for name in ("budget", "time_limit"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, positive=True)
        _check_values(self.n_components, "n_components", check_int, minimum=1)
        _check_values(self.alphas, "alphas", check_number, positive=True)
        _check_values(self.hubers, "hubers", check_number, none=True, positive=True)
        _check_values(self.gammas, "gammas", check_number, none=True, positive=True)
        _check_values(self.penalties, "penalties", check_number, auto=False, positive=True)


def _as_tuple(values: Any, default: tuple[Any, ...]) -> tuple[Any, ...]:
    """One value or several as a tuple; "auto" as the default."""
    if isinstance(values, str):
        return default
    return tuple(values) if np.ndim(values) else (values,)


def _start_value(name: str, values: tuple[Any, ...]) -> Any:
    """The default of SDGSClassifier if it is among the values, else the first of them."""
    usual = {"huber": None, "gamma": None, "n_components": defaults.START_RANK, "alpha": defaults.START_ALPHA}
    return usual[name] if name in usual and usual[name] in values else values[0]


def _check_values(
    values: Any, name: str, check: Callable[..., Any], *, auto: bool = True, none: bool = False, **options: Any
) -> None:
    """Check one value or a sequence of different ones by ``check``; "auto" and None are valid if said so."""
    if auto and isinstance(values, str) and values == "auto":
        return
    several = _as_tuple(values, ())
    if isinstance(values, str) or np.ndim(values) > 1 or len(several) == 0 or len(set(several)) < len(several):
        what = 'a value, a sequence of different values, or "auto"' if auto else "a sequence of different values"
        raise ValueError(f"{name} must be {what}; got {values!r}.")
    for value in several:
        if not (none and value is None):
            check(value, name, **options)
