"""Metrics with unobserved labels, compared with slow versions that leave them out of each sample or label."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csc_array, csr_array, lil_array
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold, cross_val_score

from sdgs import metrics
from sdgs.datasets import mask_labels
from sdgs.methods import MLkNN

OF_SAMPLES = (
    "precision",
    "recall",
    "f1",
    "accuracy",
    "subset_accuracy",
    "ranking_loss",
    "one_error",
    "coverage",
    "coverage_error",
    "label_ranking_average_precision",
)
OF_ENTRIES = ("hamming_loss", "micro_f1", "brier_score", "log_loss", "expected_calibration_error")

# Few different scores, so that many are equal; empty and full sets occur, and rows without observed labels.
cases = st.tuples(st.integers(1, 8), st.integers(2, 6), st.sampled_from([2, 3, 3, 3])).flatmap(
    lambda sizes: cases_of(sizes[:2], [0.0, 1.0, np.nan][: sizes[2]])
)


def cases_of(shape, labels):
    return st.tuples(
        arrays(np.float64, shape, elements=st.sampled_from(labels)).filter(lambda Y: (Y == Y).any()),
        arrays(np.int64, shape, elements=st.integers(0, 1)),
        arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])),
        arrays(np.int64, shape[0], elements=st.integers(0, 3)),
    )


def weighted_mean(values, weights):
    values, weights = np.asarray(values), np.asarray(weights, dtype=float)
    defined = (values == values) & (weights > 0)
    return np.average(values[defined], weights=weights[defined]) if defined.any() else np.nan


def slow_values(Y, pred, P, weights, options):
    """All metrics by their definitions: each sample and each label apart, with its observed entries only."""
    known = ~np.isnan(Y)
    values = {}
    for name in OF_SAMPLES:
        metric = metrics.ALL_METRICS[name]
        given = {key: options[key] for key in metric.options}
        other = pred if metric.uses == "labels" else P
        of_samples = [
            metric.function(y[on][None], z[on][None], **given) if on.any() else np.nan
            for y, z, on in zip(Y, other, known, strict=True)
        ]
        values[name] = weighted_mean(of_samples, weights)
    for name in OF_ENTRIES:
        metric = metrics.ALL_METRICS[name]
        given = {key: options[key] for key in metric.options}
        other = (pred if metric.uses == "labels" else P)[known][:, None]
        of_entries = np.broadcast_to(weights[:, None], Y.shape)[known]
        values[name] = (
            metric.function(Y[known][:, None], other, **given, sample_weight=of_entries) if of_entries.any() else np.nan
        )
    by_label, n_true = [], []
    for y, z, on in zip(Y.T, pred.T, known.T, strict=True):
        w = weights * on
        size = w[on] @ (y[on] + z[on])
        by_label.append(
            np.nan if not w.any() else 2 * w[on] @ (y[on] * z[on]) / size if size else options["zero_division"]
        )
        n_true.append(w[on] @ y[on])
    values["macro_f1"] = weighted_mean(by_label, np.ones(len(by_label)))
    defined = np.array([value == value for value in by_label])
    n_true = np.array(n_true) * defined
    values["weighted_f1"] = weighted_mean(by_label, n_true if n_true.any() else defined)
    for k in (1, 3, 5):
        if k <= Y.shape[1]:
            rows = [(y[on], p[on], min(k, on.sum())) for y, p, on in zip(Y, P, known, strict=True)]
            at_k = {"precision": metrics.precision_at_k, "ndcg": metrics.ndcg_at_k}
            for name, function in at_k.items():
                of_samples = [function(y[None], p[None], k=m) if m else np.nan for y, p, m in rows]
                values[f"{name}@{k}"] = weighted_mean(of_samples, weights)
            reached = possible = 0.0
            for (y, p, m), on, weight in zip(rows, known, weights, strict=True):
                gains = y / options["propensities"][on]
                possible += weight * np.sort(gains)[::-1][:m].sum()
                for value, gain in zip(p, gains, strict=True):  # the share of the orders that have it among the first m
                    before, equal = (p > value).sum(), (p == value).sum()
                    reached += weight * gain * np.clip((m - before) / equal, 0, 1)
            values[f"psp@{k}"] = reached / possible if possible else np.nan
    return values


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    case=cases,
    both_empty=st.sampled_from([0.0, 1.0, np.nan]),
    zero_division=st.sampled_from([0.0, 1.0, np.nan]),
    data=st.data(),
)
def test_unobserved_labels_are_left_out(case, both_empty, zero_division, data):
    Y, pred, P, weights = case
    propensities = data.draw(arrays(np.float64, Y.shape[1], elements=st.floats(0.1, 1)))
    options = {"both_empty": both_empty, "zero_division": zero_division, "propensities": propensities}
    weights = weights if weights.any() else weights + 1
    actual = metrics.evaluate(Y, pred, P, measures="all", sample_weight=weights, **options)
    expected = slow_values(Y, pred, P, weights, options)
    assert set(actual) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, atol=1e-12, err_msg=name)
    repeated = (np.repeat(array, weights, axis=0) for array in (Y, pred, P))
    if not np.isnan(Y[weights > 0]).all():
        for name, value in metrics.evaluate(*repeated, measures="all", **options).items():
            np.testing.assert_allclose(actual[name], value, atol=1e-12, err_msg=f"{name}, rows repeated")
    unknown = np.isnan(Y)
    others = np.where(unknown, 1 - pred, pred), np.where(unknown, 1 - P, P)
    changed = metrics.evaluate(Y, *others, measures="all", sample_weight=weights, **options)
    np.testing.assert_array_equal(list(changed.values()), list(actual.values()))


@settings(deadline=None, max_examples=25)
@given(case=cases)
def test_values_of_labels(case):
    Y, pred, P, weights = case
    weights = weights + 1.0
    by_label = metrics.evaluate_labels(Y, pred, sample_weight=weights)
    averages = {
        name: getattr(metrics, name)(Y, P, average=None, sample_weight=weights)
        for name in ("brier_score", "log_loss", "expected_calibration_error")
    }
    for j in range(Y.shape[1]):
        on = ~np.isnan(Y[:, j])
        if not on.any():
            assert by_label["samples"][j] == by_label["predicted"][j] == 0
            assert all(np.isnan(values[j]) for values in averages.values())
            continue
        column = (Y[on, j : j + 1], pred[on, j : j + 1])
        for name, values in metrics.evaluate_labels(*column, sample_weight=weights[on]).items():
            np.testing.assert_allclose(by_label[name][j], values[0], err_msg=name)
        for name, values in averages.items():
            value = getattr(metrics, name)(Y[on, j : j + 1], P[on, j : j + 1], sample_weight=weights[on])
            np.testing.assert_allclose(values[j], value, atol=1e-12, err_msg=name)
    for name, values in averages.items():
        macro = getattr(metrics, name)(Y, P, average="macro", sample_weight=weights)
        np.testing.assert_allclose(macro, np.nanmean(values), atol=1e-12)


@pytest.mark.parametrize("name", ["brier_score", "log_loss", "expected_calibration_error"])
@pytest.mark.parametrize("average", ["micro", "macro"])
def test_without_weight_on_observed_labels_there_is_no_value(name, average):
    Y, P = [[np.nan, np.nan], [1, 0]], [[0.5, 0.5], [0.7, 0.1]]
    assert np.isnan(getattr(metrics, name)(Y, P, average=average, sample_weight=[1, 0]))


def make_case(n=60, k=5, seed=0):
    rng = np.random.default_rng(seed)
    true, pred = (rng.random((2, n, k)) < 0.4).astype(int)
    return mask_labels(true, rng.random((n, k)) < 0.3), pred, rng.random((n, k))


def test_all_kinds_of_label_matrices_give_the_same():
    Y, pred, P = make_case()
    expected = metrics.evaluate(Y, pred, P, measures="all")
    names = list("abcde")
    frame = pd.DataFrame(Y, columns=names)
    stored = csr_array(mask_labels(csr_array(np.nan_to_num(Y)), np.isnan(Y)))
    kinds = (
        *(convert(stored) for convert in (csr_array, csc_array, coo_array, lil_array)),
        frame,
        frame.astype("Int64"),
        frame.astype("boolean"),
        Y.astype(object),
        np.where(np.isnan(Y), None, Y),
    )
    for labels in kinds:
        assert metrics.evaluate(labels, pred, P, measures="all") == expected
    np.testing.assert_allclose(metrics.propensities(stored), metrics.propensities(frame))


def test_unobserved_labels_in_intervals_and_propensities():
    Y, pred, P = make_case()
    weights = np.random.default_rng(1).random(60)
    options = {"measures": ["macro_f1", "ndcg@3", "psp@1"], "sample_weight": weights}
    intervals = metrics.bootstrap_intervals(Y, pred, P, **options, random_state=0, n_resamples=50)
    for name, value in metrics.evaluate(Y, pred, P, **options).items():
        assert intervals[name].value == value
        assert intervals[name].low < value < intervals[name].high
    Y[7] = np.nan
    np.testing.assert_array_equal(metrics.propensities(Y), metrics.propensities(np.delete(Y, 7, axis=0)))
    as_positive = metrics.propensities(np.where(np.isnan(Y), 1, Y))
    assert (as_positive > metrics.propensities(Y)).all(), "unobserved entries do not count"


def test_scorers_take_unobserved_labels():
    Y, _, X = make_case()
    cv = KFold(3)

    class OnKnown(MLkNN):
        def fit(self, X, y):
            return super().fit(X, np.nan_to_num(y))

    model = OnKnown(3)
    scores = cross_val_score(model, X, Y, cv=cv, scoring=make_scorer(metrics.f1))
    expected = [
        metrics.evaluate(Y[test], model.fit(X[train], Y[train]).predict(X[test]))["f1"] for train, test in cv.split(X)
    ]
    np.testing.assert_array_equal(scores, expected)
    subset = cross_val_score(model, X, Y, cv=cv)
    expected = [
        metrics.subset_accuracy(Y[test], model.fit(X[train], Y[train]).predict(X[test])) for train, test in cv.split(X)
    ]
    np.testing.assert_array_equal(subset, expected)


def test_errors():
    Y, pred, P = make_case()
    for call, message in (
        (lambda: metrics.f1(np.full_like(Y, np.nan), pred), "no observed label"),
        (lambda: metrics.f1(np.nan_to_num(Y), Y), "Y_pred contains NaN"),
        (lambda: metrics.log_loss(Y, np.where(np.isnan(Y), np.nan, P)), "NaN"),
        (lambda: metrics.f1(Y + 1, pred), "only 0 and 1"),
        (lambda: metrics.propensities(Y[:2]), "at least 3 samples"),
        (lambda: mask_labels(pred, pred[:5]), "must have the shape of Y"),
        (lambda: mask_labels(pred, P), "unobserved must hold only 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_masks_keep_the_kind_of_the_labels():
    Y = np.array([[1, 0, 1], [0, 1, 0]])
    mask = np.array([[0, 1, 0], [0, 0, 1]])
    expected = np.where(mask == 1, np.nan, Y)
    frame = pd.DataFrame(Y, index=[3, 5], columns=["a", "b", "c"])
    masked = mask_labels(frame, mask)
    pd.testing.assert_frame_equal(masked, pd.DataFrame(expected, index=[3, 5], columns=["a", "b", "c"]))
    np.testing.assert_array_equal(mask_labels(Y.astype(bool), csr_array(mask)), expected)
    sparse = mask_labels(csc_array(Y), mask)
    assert sparse.format == "csr"
    assert sparse.nnz == 5, "NaN is stored, and zeros are not"
    np.testing.assert_array_equal(sparse.toarray(), expected)
    twice = mask_labels(expected, 1 - mask)
    assert np.isnan(twice).all(), "labels that were unobserved stay so"
    assert Y.dtype.kind == "i", "the argument is not changed"
