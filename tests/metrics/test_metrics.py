import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, csr_matrix, dok_array, lil_array
from sklearn.metrics import precision_score, recall_score

from sdgs import metrics


def by_definition(Y_true, Y_pred, both_empty=1.0, zero_division=0.0):
    """The paper's formulas on sets, one sample at a time."""
    shares = {name: [] for name in ("precision", "recall", "f1", "accuracy")}
    wrong = 0
    for y, z in zip(Y_true, Y_pred, strict=True):
        true, pred = set(np.flatnonzero(y)), set(np.flatnonzero(z))
        wrong += len(true ^ pred)
        if not true and not pred:
            for values in shares.values():
                values.append(both_empty)
            continue
        both = len(true & pred)
        shares["precision"].append(both / len(pred) if pred else zero_division)
        shares["recall"].append(both / len(true) if true else zero_division)
        shares["f1"].append(2 * both / (len(true) + len(pred)))
        shares["accuracy"].append(both / len(true | pred))
    result = {"hamming_loss": wrong / Y_true.size}
    for name, values in shares.items():
        counted = [value for value in values if not np.isnan(value)]
        result[name] = np.mean(counted) if counted else np.nan
    return result


matrices = st.tuples(st.integers(1, 12), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(*[arrays(np.int64, shape, elements=st.integers(0, 1))] * 2)
)


@settings(deadline=None)
@given(pair=matrices, both_empty=st.sampled_from([0.0, 1.0, np.nan]), zero_division=st.sampled_from([0.0, 1.0, np.nan]))
def test_metrics_agree_with_their_definitions(pair, both_empty, zero_division):
    expected = by_definition(*pair, both_empty, zero_division)
    actual = metrics.evaluate(*pair, both_empty=both_empty, zero_division=zero_division)
    assert list(actual) == ["hamming_loss", "precision", "recall", "f1", "accuracy"]
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, err_msg=name)


@settings(deadline=None)
@given(pair=matrices)
def test_bounds_between_metrics(pair):
    scores = metrics.evaluate(*pair)
    assert scores["accuracy"] <= scores["f1"] + 1e-12
    assert scores["f1"] <= 2 * scores["accuracy"] / (1 + scores["accuracy"]) + 1e-12
    assert scores["accuracy"] <= min(scores["precision"], scores["recall"]) + 1e-12


def test_precision_and_recall_are_those_of_scikit_learn_if_no_set_is_empty():
    rng = np.random.default_rng(0)
    Y_true, Y_pred = rng.integers(0, 2, size=(2, 50, 6))
    Y_true[:, 0] = Y_pred[:, 1] = 1
    assert metrics.precision(Y_true, Y_pred) == pytest.approx(precision_score(Y_true, Y_pred, average="samples"))
    assert metrics.recall(Y_true, Y_pred) == pytest.approx(recall_score(Y_true, Y_pred, average="samples"))


def test_empty_sets():
    true = [[0, 0], [0, 0], [1, 0], [1, 0]]
    pred = [[0, 0], [1, 0], [0, 0], [1, 0]]
    scores = metrics.evaluate(true, pred)
    assert scores == {"hamming_loss": 0.25, "precision": 0.5, "recall": 0.5, "f1": 0.5, "accuracy": 0.5}
    assert metrics.precision(true, pred, zero_division=np.nan) == pytest.approx(2 / 3)
    assert metrics.precision(true, pred, zero_division=np.float32("nan")) == pytest.approx(2 / 3)
    assert metrics.f1(true, pred, both_empty=0) == 0.25


@pytest.mark.parametrize(
    "convert", [csr_array, csr_matrix, lil_array, dok_array, lambda Y: Y.astype(bool), lambda Y: Y.tolist()]
)
def test_all_input_types_give_the_same_metrics(convert):
    Y_true, Y_pred = np.random.default_rng(0).integers(0, 2, size=(2, 20, 4))
    assert metrics.evaluate(convert(Y_true), convert(Y_pred)) == metrics.evaluate(Y_true, Y_pred)


def test_lists_of_labels_are_compared_by_names():
    true, pred = [["b"], ["a", "b"], []], pd.Series([("c",), ("b", "a"), ()])
    Y_true, Y_pred = [[0, 1, 0], [1, 1, 0], [0, 0, 0]], [[0, 0, 1], [1, 1, 0], [0, 0, 0]]
    assert metrics.evaluate(true, pred) == metrics.evaluate(Y_true, Y_pred)
    assert metrics.macro_f1(true, pred) == metrics.macro_f1(Y_true, Y_pred)
    np.testing.assert_array_equal(
        metrics.evaluate_labels(true, pred)["f1"], metrics.evaluate_labels(Y_true, Y_pred)["f1"]
    )
    of_lists, of_matrices = (
        metrics.bootstrap_intervals(*pair, n_resamples=5, random_state=0) for pair in ((true, pred), (Y_true, Y_pred))
    )
    assert of_lists["f1"] == of_matrices["f1"]
    with pytest.raises(ValueError, match="Y_pred has a list of labels for each sample, and Y_true has not"):
        metrics.f1(Y_true, pred)
    for compute in (metrics.ranking_loss, lambda y, scores: metrics.evaluate(y, true, scores, measures=["coverage"])):
        with pytest.raises(ValueError, match="columns of scores have no names"):
            compute(true, np.eye(3))
