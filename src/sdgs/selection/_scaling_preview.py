"""Choosing a scaling without decompositions: a ridge regression of the labels on the samples alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.impute import SimpleImputer

from sdgs._utils._array_api import take_rows, to_host
from sdgs._utils._unobserved_labels import expected_labels
from sdgs._utils._validation import has_missing
from sdgs.readout._calibration import Starts
from sdgs.readout._features import store_compactly, take_columns
from sdgs.readout._observed_ridge import prepare_label_ridge
from sdgs.readout._relevance import most_relevant_columns
from sdgs.readout._ridge import Path, RidgeDesign
from sdgs.readout._samples import ArraySamples
from sdgs.readout._scaling import Scaling
from sdgs.selection._cross_fit import CrossFit, Scorer, best_penalty, middle_penalty
from sdgs.selection._defaults import PREVIEW_COLUMNS, SCALING_MARGIN
from sdgs.selection._folds import Folds, Rows


def preview_scalings(
    scalings: Mapping[str, Scaling],
    samples: ArraySamples,
    labels: Any,
    folds: Folds,
    penalties: Sequence[float],
    scorer: Scorer,
    n_jobs: int | None = 1,
    *,
    mostly_zero: bool,
    for_subspaces: bool,
    max_columns: int = PREVIEW_COLUMNS,
) -> str:
    """The name of the scaling with which a ridge regression of the labels on the samples predicts best.

    This shows whether rare words matter more than frequent ones. It shows less well whether dense features are
    measurements or parts of a sum: standardised parts of a sum gain up to 3 points of F1 here, and lose with subspaces.
    So ``for_subspaces`` and dense samples the first scaling is taken unless another is better by ``SCALING_MARGIN``,
    in F1 whatever the metric. Missing entries are replaced by column means.
    """
    is_cautious = for_subspaces and not samples.is_sparse
    X = samples.X
    if has_missing(X):
        X = SimpleImputer(keep_empty_features=True).fit_transform(to_host(X))
    if is_cautious:
        scorer = replace(scorer, decision=replace(scorer.decision, metric="f1"))
    Y, weight = labels.toarray().astype(float), samples.sample_weight
    expected = expected_labels(labels, weight)
    calibration_starts: Starts = {}

    def best_value(scaling: Scaling) -> float:
        scaled = scaling.transform(X)[0]
        columns = most_relevant_columns([scaled], expected, max_columns, weight)
        (Z,) = store_compactly(take_columns([scaled], columns))
        fit_fold = partial(_fit_fold, Z, Y, weight, mostly_zero, n_jobs)
        cross_fit = CrossFit(fit_fold, Y, folds, 1, n_jobs, sample_weight=weight)
        return best_penalty(cross_fit, penalties, middle_penalty(penalties), scorer, calibration_starts).value

    values = {name: best_value(scaling) for name, scaling in scalings.items()}
    if is_cautious:
        values[next(iter(values))] += SCALING_MARGIN
    return max(values, key=lambda name: values[name])


def _fit_fold(
    Z: Any, Y: Any, weight: Any, mostly_zero: bool, n_jobs: int | None, train: Rows, test: Rows, _: int
) -> Path:
    width = int(Z.shape[1])
    weight = None if weight is None else weight[train]
    total = None if weight is None else float(weight.sum())
    design = RidgeDesign((width,), slice(0, width) if mostly_zero else None, weight, total)
    regression = prepare_label_ridge([[take_rows(Z, train)]], Y[train], design, n_jobs=n_jobs)
    return regression.path([[take_rows(Z, test)]], (width,))
