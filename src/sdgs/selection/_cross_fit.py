"""Trying settings out on samples that they were not learnt from, and looking for a better one.

Plain functions on arrays. What two settings have in common (the decomposition, if only ``alpha`` differs; the scaled
samples; the folds) is computed once.
"""

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold

from sdgs._utils._array_api import take_rows, to_device_of, to_host
from sdgs._utils._progress import Task
from sdgs._utils._validation import has_missing, on_workers
from sdgs.persistence._checkpoint import Checkpoint, fingerprint
from sdgs.readout._calibration import (
    Features,
    Fold,
    FoldFit,
    calibrate,
    cross_fitted,
    cross_fitted_partially,
    every_so_often,
    worth_of_samples,
)
from sdgs.readout._decision import Decision, value
from sdgs.readout._features import (
    FEATURE_BLOCKS,
    WIDEST,
    DecompositionOptions,
    PipelineParameters,
    chosen,
    fit_features,
    most_relevant_columns,
    parts_of,
    side_by_side,
)
from sdgs.readout._scaling import Scaling, mostly_zero

Array = NDArray[np.floating[Any]]

_ENOUGH = 1_000_000  # scores to compare two penalties on
_CALIBRATED_ON = 100_000  # of those, for a calibration that is used for the comparison alone
_WORTH = 0.001
_CLEARLY = 0.05
MOST_ROWS = 50_000  # to choose a penalty on, and fit a calibration to
_LEFT_OUT = 10_000  # of those to predict: where one fold has as many, one is enough
_QUICK = 2048  # columns that a quick look goes by
_SCORE_BYTES = 1 << 31  # for the scores of all penalties
_PARTIALITIES = (0.25, 0.5)
_WORDS_A_LABEL = 4  # at least, for labels to be partial: with fewer it gained nothing, and takes long


@dataclass(frozen=True, eq=False)
class CVResult:
    """How good a setting is, and with what.

    Attributes
    ----------
    setting : Setting
    penalty : float
        The best ridge penalty.
    read_from : tuple of str
        The parts of what a setting offers that labels are best read from: the leading ones of ``PARTS``, of which
        there is no "kernel" without ``gamma``.
    value : float
        The metric on the cross-fitted scores, calibrated and decided on; the larger the better.
    rows : ndarray of shape (m,)
        The samples that it was tested on.
    scores : ndarray of shape (m, k)
        Cross-fitted: what a model says of each of those that was not learnt from it.
    partiality : float
        How much each label listens to the words that speak of it: see :func:`sdgs.readout._ridge.partial_leniency`. 0: all
        labels listen alike.
    """

    setting: PipelineParameters
    penalty: float
    read_from: tuple[str, ...]
    value: float
    rows: NDArray[np.intp]
    scores: Array
    partiality: float = 0.0


class CandidateEvaluator:
    """Tries settings on samples ``X`` with labels ``Y`` (CSR), all on the same folds.

    On ``most`` of them at most (None: 50,000), drawn at random, and on no more than there is memory for the scores of.
    Of the folds as many are used as it takes to leave out 10,000 samples, if there are so many.
    """

    def __init__(
        self,
        X: Any,
        labels: Any,
        scalings: Callable[[str | None], Scaling],
        training: DecompositionOptions,
        *,
        penalties: Sequence[float],
        n_folds: int,
        decision: Decision,
        most: int | None = None,
    ) -> None:
        self._depends_on = ""
        if training.checkpoint is not None:
            how = replace(training, n_jobs=None, checkpoint=None)
            self._depends_on = fingerprint(
                X, X.shape, labels, labels.shape, how, tuple(penalties), n_folds, decision, most
            )
        self._weighs = mostly_zero(X)
        n, k = labels.shape
        self._listens = self._weighs and k * _WORDS_A_LABEL <= min(X.shape[1], WIDEST)
        self.rows = _some_rows(n, rows_tried(n, k, len(penalties), most), training.seed)
        if on_workers(X) or self.rows.size < labels.shape[0]:  # samples on workers come here by it
            X, labels = take_rows(X, self.rows), labels[self.rows]
        self._X, self._labels, self._scalings, self._training = X, labels, scalings, training
        self._penalties, self._decision = tuple(penalties), decision
        self._Y = labels.toarray().astype(np.float64)
        n = len(self._Y)
        folds = KFold(min(n_folds, n), shuffle=True, random_state=training.seed).split(self._Y) if n >= 2 else ()
        self._folds: list[Fold] = list(folds)
        del self._folds[folds_used(n, n_folds) :]
        tested = [test for _, test in self._folds] or [np.arange(n)]
        self._tested = np.sort(np.concatenate(tested))
        self._truth = self._Y[self._tested]
        self._scaled: tuple[str | None, Any, Any] | None = None
        self._known: list[dict[Hashable, Any]] = [{} for _ in self._folds]

    @property
    def tested(self) -> NDArray[np.intp]:
        """The samples that are predicted: all that settings are tried on, or as many as it takes."""
        return self.rows[self._tested]

    def __call__(
        self, setting: PipelineParameters, task: Task | None = None, *, parts: tuple[str, ...] | None = None
    ) -> CVResult:
        """Try a setting, unless that was done before and kept, with labels read from these parts at most (None: all).

        ``task`` has a part for each fold, and one more.
        """
        task, parts = task or Task(), parts or parts_of(setting)
        if self._training.checkpoint is None:
            return self._tried(setting, parts, task)
        checkpoint = Checkpoint(self._training.checkpoint, "trial", self._depends_on, setting, parts)
        kept = checkpoint.load()
        if kept is not None:
            try:
                return self._restored(setting, parts, **kept)
            except (IndexError, TypeError, ValueError):
                checkpoint.distrust("it does not fit the data.")
        trial = self._tried(setting, parts, task)
        choice = np.array([self._penalties.index(trial.penalty), len(trial.read_from)], dtype=np.int64)
        worth = np.array([trial.value, trial.partiality])
        checkpoint.store({"choice": choice, "worth": worth, "scores": trial.scores})
        return trial

    def _restored(
        self,
        setting: PipelineParameters,
        parts: tuple[str, ...],
        choice: NDArray[np.int64],
        worth: Array,
        scores: Array,
    ) -> CVResult:
        (number, depth), (value, partiality) = choice.tolist(), worth.tolist()
        if scores.shape != self._truth.shape or scores.dtype != np.float64:
            raise ValueError("scores must have one column a label.")
        if not 0 < depth <= len(parts):
            raise ValueError("labels are read from at least one part, and no more than there are.")
        if partiality not in ((0, *_PARTIALITIES) if self._listens and "sample" in parts[:depth] else (0,)):
            raise ValueError("labels are as partial as could be chosen.")
        return CVResult(setting, self._penalties[number], parts[:depth], value, self.tested, scores, partiality)

    def _tried(self, setting: PipelineParameters, parts: tuple[str, ...], task: Task) -> CVResult:
        if self._scaled is None or self._scaled[0] != setting.scaling:  # no more than one scaled copy at a time
            self._scaled = setting.scaling, *self._scalings(setting.scaling)(self._X)
            self._known = [{} for _ in self._folds]
        (_, X, norms), n_jobs = self._scaled, self._training.n_jobs

        def features(fold: int) -> Features:
            (train, test), known = self._folds[fold], self._known[fold]
            (mine, lengths), (others, other_lengths) = (
                (take_rows(X, rows), norms[to_device_of(rows, norms)]) for rows in (train, test)
            )
            view = fit_features(mine, self._labels[train], setting, self._training, norms=lengths, known=known)
            widths = view.widths[: len(parts)]
            return Features(
                view.blocks(mine, n_jobs, lengths, widths[-1]),
                view.blocks(others, n_jobs, other_lengths, widths[-1]),
                widths,
                view.place("sample") if self._weighs else None,
                view.kernels,
                worth_of_samples(self._labels[train], self._decision.metric) if self._weighs else None,
            )

        folds = task.each("fold", self._folds)
        with warnings.catch_warnings():  # what is learnt from all rows says it once
            warnings.simplefilter("ignore", ConvergenceWarning)
            kept: list[Callable[[], FoldFit]] | None = [] if self._listens else None
            paths = cross_fitted(features, self._Y, folds, self._penalties, len(parts), kept, self._tested)
        some = every_so_often(len(self._truth), self._truth.shape[1], _ENOUGH)
        decision, Y = self._decision, self._truth[some]

        def best(choices: Iterable[tuple[int, int, float]]) -> tuple[int, int, float]:
            """Of parts, penalties and partialities."""
            return max(choices, key=lambda choice: _value(scores_of[choice][some, :], Y, decision))

        scores_of = {(depth, i, 0.0): scores for depth, path in enumerate(paths) for i, scores in enumerate(path)}
        with task.part("penalties"):
            choice = depth, i, _ = best(scores_of)
            if kept and "sample" in parts[: depth + 1]:
                near = range(i, min(i + 2, len(self._penalties)))  # where labels hold down by themselves, more may be
                paths, tried = [paths[depth][i] for i in near], [self._penalties[i] for i in near]
                again = cross_fitted_partially(kept, paths, tried, depth, _PARTIALITIES)
                for i, found in zip(near, again, strict=True):
                    scores_of |= {(depth, i, p): scores for p, scores in zip(_PARTIALITIES, found, strict=True)}
                choice = best([choice, *(one for one in scores_of if one[2])])
        depth, i, partiality = choice
        scores = scores_of[choice]
        value = _value(scores, self._truth, decision)
        read_from = parts[: depth + 1]
        return CVResult(setting, self._penalties[i], read_from, value, self.tested, to_host(scores), partiality)

    def best_scaling(self, candidates: Sequence[str], *, for_subspaces: bool) -> str:
        """The scaling with which a ridge regression of the samples alone does best.

        A quick look, without subspaces: whether rare words say more than frequent ones shows without them. Whether
        dense features are measurements or mean a sum shows less well: parts of a sum gain up to three points of F1 by
        being standardised in this look, and lose by it where subspaces are learnt. So ``for_subspaces`` of dense
        samples the first candidate it is unless another is better by five, whatever the metric. Missing entries are the
        mean of their column here.
        """
        if len(candidates) == 1:
            return candidates[0]
        careful = for_subspaces and not issparse(self._X)
        observed = self._X
        if has_missing(observed):
            observed = SimpleImputer(keep_empty_features=True).fit_transform(to_host(observed))
        decision = replace(self._decision, metric="f1") if careful else self._decision

        def tried(how: str) -> float:
            X = self._scalings(how)(observed)[0]
            (Z,) = side_by_side(chosen([X], most_relevant_columns([X], self._labels, _QUICK)))

            def features(fold: int) -> Features:
                train, test = self._folds[fold]
                weighed = slice(0, Z.shape[1]) if self._weighs else None
                return Features([[take_rows(Z, train)]], [[take_rows(Z, test)]], (Z.shape[1],), weighed)

            (paths,) = cross_fitted(features, self._Y, self._folds, self._penalties, 1, tested=self._tested)
            some = every_so_often(len(self._truth), self._truth.shape[1], _ENOUGH)
            return max(_value(scores[some, :], self._truth[some], decision) for scores in paths)

        found = {how: tried(how) for how in candidates}
        if careful:
            found[candidates[0]] += _CLEARLY
        return max(candidates, key=lambda how: found[how])


def _value(scores: Any, Y: Array, decision: Decision) -> float:
    """The metric of what cross-fitted scores predict."""
    P = calibrate(scores, Y, _CALIBRATED_ON).probabilities(scores)
    return value(decision.metric, to_device_of(Y, P), decision.labels(P))


def _some_rows(n: int, most: int, seed: int) -> NDArray[np.intp]:
    """All, or ``most`` at random, in order."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def rows_tried(n: int, n_labels: int, n_penalties: int, most: int | None = None) -> int:
    """Of n samples, those that settings are tried on."""
    affordable = max(_SCORE_BYTES // (8 * len(FEATURE_BLOCKS) * n_penalties * n_labels), 1000)
    return min(n, most or MOST_ROWS, affordable)


def folds_used(n: int, n_folds: int) -> int:
    """As many as it takes to leave enough of n samples out."""
    return min(n_folds, -(-_LEFT_OUT * n_folds // n))


def costs_of_a_search(n: int, rows: int, rows_of_fit: int, n_folds: int, *, sparse: bool) -> tuple[float, float]:
    """To try a setting on some rows of n, and to fit it in the end; a fit of SDGSClassifier being 1: a rule of thumb.

    That tries its setting on other rows, which takes three quarters of its time if these are all, and all folds are
    left out. It also has a look at scalings of sparse samples. Settings that were tried on some are tried on all again.
    """
    of_fit = 0.55 if sparse else 0.75

    def trying(rows: int) -> float:
        return of_fit * rows * folds_used(rows, n_folds) / n_folds

    fit = trying(rows_of_fit) + (1 - of_fit) * n
    return trying(rows) / fit, 1.0 if rows < n else 0.25 * n / fit


def relative_cost(
    setting: PipelineParameters, n_labels: int, n_features: int, n_landmarks: int, *, sparse: bool
) -> float:
    """Of a setting, the defaults of SDGSClassifier being 1: a rule of thumb.

    A code takes time by its length, and up to the square of it where the subspaces together have more dimensions than
    there are features, and overlap. A kernel takes by its landmarks, of which dense samples have many: measured were
    0.3 to 2.9 times the time without it.
    """
    length = float(np.mean(setting.n_components)) / 4
    crowd = min(4 * length * n_labels / n_features, length)
    cost = length * max(crowd, 1) * (0.1 / setting.alpha) ** 0.5
    kernel = 0.75 + 0.02 * n_landmarks / n_labels if sparse else min(n_landmarks / 400, 2.8)
    return float(cost * (1 if setting.huber is None else 1.75) + (0 if setting.gamma is None else kernel))


def coordinate_search(
    start: PipelineParameters,
    axes: Sequence[tuple[str, Sequence[Any]]],
    attempt: Callable[[PipelineParameters], CVResult],
    worth_it: Callable[[PipelineParameters, CVResult], bool] = lambda *_: True,
) -> tuple[CVResult, list[CVResult]]:
    """The best setting found and all tried, from ``start`` along one axis after the other as far as it gets better.

    On each axis, a parameter and its values in order, it goes up from where it is while that helps, and if it did not
    help at all, down. Help is a tenth of a point: less is chance, and often has its price. What is not ``worth_it``,
    given the best so far, is passed over.
    """
    best = attempt(start)
    tried = {start: best}
    for name, values in axes:
        here = values.index(getattr(best.setting, name))
        for step in (1, -1):
            place = here + step
            while 0 <= place < len(values):
                setting = replace(best.setting, **{name: values[place]})
                if setting not in tried:
                    if not worth_it(setting, best):
                        place += step
                        continue
                    tried[setting] = attempt(setting)
                trial = tried[setting]
                if trial.value < best.value + _WORTH:
                    break
                best, place = trial, place + step
            if getattr(best.setting, name) != values[here]:
                break
    return best, list(tried.values())
