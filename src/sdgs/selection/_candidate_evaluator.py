"""Evaluating candidates by cross-validation, all on the same folds of the same samples."""

import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sdgs._utils._array_api import on_host, to_host
from sdgs._utils._progress import Task
from sdgs.persistence._checkpoint import Checkpoint, fingerprint, is_moderate
from sdgs.readout._calibration import Starts
from sdgs.readout._features import feature_block_names
from sdgs.readout._parameters import PipelineParameters, RidgeChoice
from sdgs.readout._pipeline import ReadoutContext, fit_regression, shared_codes
from sdgs.readout._ridge import Path
from sdgs.readout._samples import Samples
from sdgs.selection._candidate import CVResult
from sdgs.selection._cross_fit import (
    CrossFit,
    Scorer,
    best_penalty,
    draw_rows,
    middle_penalty,
    n_cv_samples,
)
from sdgs.selection._defaults import ENOUGH_TEST_SAMPLES
from sdgs.selection._folds import Rows, check_test_labels, folds_of
from sdgs.selection._scaling_preview import preview_scalings

Array = NDArray[np.floating[Any]]


class CandidateEvaluator:
    """Evaluates candidates on samples with labels (CSR, of which some may be unobserved).

    What two candidates have in common is computed once: the scaled samples, the folds, and the decompositions if only
    ``alpha`` differs. At most ``max_samples`` samples are used, drawn at random.
    """

    def __init__(
        self,
        samples: Samples,
        labels: Any,
        context: ReadoutContext,
        penalties: Sequence[float],
        max_samples: int | None = None,
        *,
        enough_test_samples: int = ENOUGH_TEST_SAMPLES,
    ) -> None:
        n, k = labels.shape
        options = context.options
        self._fingerprint = ""
        if options.checkpoint is not None:
            shared = replace(context, options=replace(options, n_jobs=None, checkpoint=None), splits=0, propensity=None)
            splits = (context.splits,) if isinstance(context.splits, int) else tuple(chain(*context.splits))
            self._fingerprint = fingerprint(
                samples.content,
                samples.shape,
                samples.sample_weight,
                labels,
                labels.shape,
                shared,
                *splits,
                context.propensity,
                tuple(penalties),
                max_samples,
            )
        self.rows = draw_rows(n, n_cv_samples(n, k, max_samples), options.seed)
        self._all_samples, self._samples, self._labels = samples, samples.take(self.rows), labels[self.rows]
        self._context, self._penalties = context, tuple(penalties)
        self._Y = self._labels.toarray().astype(np.float64)
        self._folds = folds_of(context.splits, self.rows, options.seed, enough=enough_test_samples)
        test_weight = self._samples.weights_of(self._folds.test_rows)
        check_test_labels(self._Y[self._folds.test_rows])
        self._scorer = Scorer(self._Y[self._folds.test_rows], context.decision, test_weight, context.propensity)
        self._scaled: tuple[str | None, Samples] | None = None
        self._caches: list[dict[Hashable, Any]] = []
        self._start = middle_penalty(penalties)

    @property
    def test_rows(self) -> Rows:
        """The samples that are predicted."""
        return self.rows[self._folds.test_rows]

    @property
    def test_labels(self) -> Array:
        """Their labels (m, k), with NaN where they are unobserved."""
        return self._scorer.Y

    @property
    def test_weight(self) -> NDArray[np.float64] | None:
        """Their weights (m,); None for 1."""
        return self._scorer.sample_weight

    def evaluate(
        self,
        parameters: PipelineParameters,
        task: Task | None = None,
        *,
        max_blocks: tuple[str, ...] | None = None,
        start: float | None = None,
    ) -> CVResult:
        """Evaluate a candidate, unless a checkpoint has its result.

        Labels are read from ``max_blocks`` at most (None: all feature blocks). ``task`` has a part per fold, and one
        for the choice of the penalty, which starts at ``start`` (None: at the penalty of the last candidate).
        """
        result = self._evaluate_or_load(
            parameters,
            max_blocks or feature_block_names(parameters),
            self._start if start is None else self._penalties.index(start),
            task or Task(),
        )
        self._start = self._penalties.index(result.choice.penalty)
        return result

    def _evaluate_or_load(
        self, parameters: PipelineParameters, blocks: tuple[str, ...], start: int, task: Task
    ) -> CVResult:
        folder = self._context.options.checkpoint
        if folder is None:
            return self._evaluate(parameters, blocks, start, task)
        checkpoint = Checkpoint(folder, "candidate", self._fingerprint, parameters, blocks, start)
        arrays = checkpoint.load()
        if arrays is not None:
            try:
                return self._restore(parameters, blocks, **arrays)
            except (IndexError, TypeError, ValueError):
                checkpoint.warn_unusable("it does not fit the data.")
        result = self._evaluate(parameters, blocks, start, task)
        choice = [self._penalties.index(result.choice.penalty), len(result.choice.read_from)]
        checkpoint.store(
            {"choice": np.array(choice, dtype=np.int64), "value": np.array([result.value]), "scores": result.scores}
        )
        return result

    def _restore(
        self,
        parameters: PipelineParameters,
        blocks: tuple[str, ...],
        choice: NDArray[np.int64],
        value: Array,
        scores: Array,
    ) -> CVResult:
        (penalty, n_blocks), (metric_value,) = choice.tolist(), value.tolist()
        if scores.shape != self._scorer.Y.shape or scores.dtype != np.float64:
            raise ValueError("scores must have one row per test sample and one column per label.")
        if not (is_moderate(scores) and math.isfinite(metric_value)):
            raise ValueError("scores and the metric must be finite.")
        if not 0 < n_blocks <= len(blocks):
            raise ValueError("the number of feature blocks is out of range.")
        ridge = RidgeChoice(self._penalties[penalty], blocks[:n_blocks])
        return CVResult(parameters, ridge, metric_value, self.test_rows, scores)

    def _evaluate(self, parameters: PipelineParameters, blocks: tuple[str, ...], start: int, task: Task) -> CVResult:
        scaled = self._scale(parameters.scaling)
        calibration_starts: Starts = {}
        with warnings.catch_warnings():  # the fit to all samples will warn, once
            warnings.simplefilter("ignore", ConvergenceWarning)
            cross_fit = CrossFit(
                partial(self._fit_fold, scaled, parameters, blocks),
                self._Y,
                self._folds,
                len(blocks),
                self._context.options.n_jobs,
                sample_weight=self._samples.sample_weight,
                each=partial(task.each, "fold"),
            )
        with task.part("penalties"):
            best = best_penalty(cross_fit, self._penalties, start, self._scorer, calibration_starts)
        choice = RidgeChoice(self._penalties[best.penalty], blocks[: best.width + 1])
        value = self._scorer.value(best.scores, calibration_starts)
        return CVResult(parameters, choice, value, self.test_rows, to_host(best.scores))

    def _scale(self, scaling: str | None) -> Samples:
        if self._scaled is None or self._scaled[0] != scaling:  # at most one scaled copy at a time
            self._scaled = scaling, self._samples.scale(self._all_samples.scaling(scaling))
            self._caches = [{} for _ in self._folds.pairs]
        return self._scaled[1]

    def _fit_fold(
        self,
        scaled: Samples,
        parameters: PipelineParameters,
        blocks: Sequence[str],
        train: Rows,
        test: Rows,
        i: int,
    ) -> Path:
        features, regression, widths = fit_regression(
            scaled.take(train),
            self._labels[train],
            parameters,
            self._context,
            read_from=blocks,
            every_prefix=True,
            Y=self._Y[train] if on_host(scaled.X) else None,
            cache=self._caches[i],
        )
        test_samples = scaled.take(test)
        n_jobs = self._context.options.n_jobs
        codes = shared_codes(test_samples.X, features, blocks, self._caches[i], "test", n_jobs)
        test_blocks = list(features.transform_blocks(test_samples.X, n_jobs, test_samples.norms, widths[-1], codes))
        return regression.path(test_blocks, widths)

    def best_scaling(self, names: Sequence[str], *, for_subspaces: bool) -> str:
        """The best of several scalings by a quick preview: see :func:`preview_scalings`."""
        if len(names) == 1:
            return names[0]
        return preview_scalings(
            {name: self._all_samples.scaling(name) for name in names},
            self._samples,
            self._labels,
            self._folds,
            self._penalties,
            self._scorer,
            self._context.options.n_jobs,
            mostly_zero=self._context.mostly_zero,
            for_subspaces=for_subspaces,
        )
