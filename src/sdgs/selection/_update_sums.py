"""Learning from more samples by the sums over earlier ones: ridge regression, penalty, and scores to calibrate on.

Scaling, subspaces, landmarks and selected columns stay those of the fit. For these features the regression is that of
all samples, to rounding.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sdgs.readout._decision import Decision
from sdgs.readout._moments import Moments, accumulate, merge_moments
from sdgs.readout._pipeline import FittedPipeline, ReadoutContext
from sdgs.readout._ridge import PrimalRidge
from sdgs.readout._sample_sums import KeptSamples, SampleSums, ScoredSamples, SizeWeights, fit_size_weights, packed
from sdgs.selection import _defaults as defaults
from sdgs.selection._cross_fit import Scorer

Array = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class UpdateOptions:
    """What an update needs beside sums and pipeline.

    Attributes
    ----------
    penalties : sequence of float
        The ridge penalties to choose from.
    decision : Decision
        The decision that they are compared with.
    n_jobs : int or None
    propensity : ndarray of shape (k,) or None
        The probability that a true label is given; None if labels that are not given are negative.
    """

    penalties: Sequence[float]
    decision: Decision
    n_jobs: int | None
    propensity: NDArray[np.float64] | None = None


def sum_samples(
    pipeline: FittedPipeline,
    samples: KeptSamples,
    scored: ScoredSamples,
    context: ReadoutContext,
) -> SampleSums:
    """The sums over the samples that a pipeline was fitted to."""
    X, labels, n_jobs = samples.X, samples.labels, context.options.n_jobs
    size_weights = None
    if context.mostly_zero:
        size_weights = fit_size_weights(labels, context.decision.metric, samples.sample_weight)
    weight = _weights(size_weights, samples)
    m = accumulate(None, _features(pipeline, X, n_jobs), labels, weight, n_jobs).moments()
    return SampleSums(
        gram=packed(m.gram),
        cross=m.cross,
        Z_mean=m.Z_mean,
        Y_mean=m.Y_mean,
        weight=float(m.weight),
        n_samples=labels.shape[0],
        weighs_columns=context.mostly_zero,
        size_weights=size_weights,
        scored=scored,
        penalty_gains=np.zeros(2),
        n_compared=0,
    )


def add_samples(
    sums: SampleSums, pipeline: FittedPipeline, penalty: float, samples: KeptSamples, options: UpdateOptions
) -> tuple[SampleSums, FittedPipeline, float]:
    """Learn from more samples; the results are the sums over all, the pipeline, and its penalty.

    Every second of the new samples is scored first, by regressions on all other samples, with this penalty and its two
    neighbours. If a neighbour has been better by more than chance would have it, it is taken.
    """
    n_jobs, kernel = options.n_jobs, pipeline.features.kernel
    landmark_gram = None if kernel is None else kernel.gram(n_jobs)
    columns = pipeline.features.column_slice("sample") if sums.weighs_columns else None
    labels, sample_weight, n = samples.labels, samples.sample_weight, samples.n_samples
    blocks, weight = list(_features(pipeline, samples.X, n_jobs)), _weights(sums.size_weights, samples)

    def moments_of(rows: Rows) -> Moments:
        some_weight = None if weight is None else weight[rows]
        return accumulate(None, _take_rows(blocks, rows), labels[rows], some_weight, n_jobs).moments()

    scored_rows, other_rows = np.arange(0, n, 2), np.arange(1, n, 2)
    moments = sums.moments
    if other_rows.size:
        moments = merge_moments([moments, moments_of(other_rows)])
    regression, width = PrimalRidge(moments, columns, landmark_gram), len(moments.Z_mean)

    def scores(penalty: float) -> Array:
        ridge = regression.ridge(penalty, width)
        return np.concatenate([ridge.scores(Z) for Z in _take_rows(blocks, scored_rows)])

    position = options.penalties.index(penalty)
    neighbours = [i for i in range(position - 1, position + 2) if 0 <= i < len(options.penalties)]
    candidates = {i: scores(options.penalties[i]) for i in neighbours}
    scored_labels, scored_weight = labels[scored_rows], None if sample_weight is None else sample_weight[scored_rows]
    scored = sums.scored.add(candidates[position], scored_labels, scored_weight)
    sums = replace(sums, n_samples=sums.n_samples + n, scored=scored)
    if len(candidates) > 1:
        scorer = Scorer(scored_labels.toarray().astype(np.float64), options.decision, scored_weight, options.propensity)
        with warnings.catch_warnings():  # few samples may have no calibration, but then the gains are of few samples
            warnings.simplefilter("ignore", ConvergenceWarning)
            values = dict(zip(candidates, scorer.quick_values(list(candidates.values()), {}), strict=True))
        sums, position = _choose_neighbour(sums, values, position, scored_rows.size)
    moments = merge_moments([moments, moments_of(scored_rows)])
    penalty = options.penalties[position]
    ridge = PrimalRidge(moments, columns, landmark_gram).ridge(penalty, width)
    return sums.with_moments(moments), replace(pipeline, ridge=ridge), penalty


def _choose_neighbour(sums: SampleSums, values: dict[int, float], position: int, n: int) -> tuple[SampleSums, int]:
    """The sums with what neighbouring penalties gain on n more samples, and the position of the penalty to take."""
    gains = np.array([values.get(position + step, -np.inf) - values[position] for step in (-1, 1)])
    gains, n_compared = sums.penalty_gains + n * np.maximum(gains, -1), sums.n_compared + n
    best = int(np.argmax(gains))
    if gains[best] > defaults.PENALTY_GAIN_SPREAD * np.sqrt(n_compared):
        return replace(sums, penalty_gains=np.zeros(2), n_compared=0), position + (-1, 1)[best]
    return replace(sums, penalty_gains=gains, n_compared=n_compared), position


def _weights(size_weights: SizeWeights | None, samples: KeptSamples) -> Array | None:
    """The weights of samples in the ridge regression; None for 1."""
    if size_weights is None:
        return samples.sample_weight
    weight = size_weights.weights(samples.labels)
    return weight if samples.sample_weight is None else weight * samples.sample_weight


def _features(pipeline: FittedPipeline, X: Any, n_jobs: int | None) -> Iterator[list[Any]]:
    """The features that the ridge regression reads, by blocks of rows."""
    assert pipeline.ridge is not None
    width = pipeline.ridge.coef.shape[1]
    for scaled, norms in pipeline.scaled_blocks(X):
        yield from pipeline.features.transform_blocks(scaled, n_jobs, norms, width)


def _take_rows(blocks: Sequence[Sequence[Any]], rows: Rows) -> Iterator[list[Any]]:
    """Some rows of matrices side by side, block by block."""
    start = 0
    for Z in blocks:
        stop = start + Z[0].shape[0]
        some = rows[(rows >= start) & (rows < stop)] - start
        if some.size:
            yield [part[some] for part in Z]
        start = stop
