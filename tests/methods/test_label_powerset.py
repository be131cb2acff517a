"""Label powerset."""

from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sdgs.methods import LabelPowerset
from sdgs.methods._label_powerset import distinct_sets, prune_sets
from sdgs.readout._joint_f1 import best_expected_f1_of_sets


def test_is_a_multiclass_problem_of_label_sets(small):
    X, Y, X_test = small
    model = LabelPowerset().fit(X, Y)
    names = ["".join(map(str, labels)) for labels in Y]
    expected = LogisticRegression().fit(X, names)
    assert sorted("".join(map(str, labels)) for labels in model.label_sets_) == list(expected.classes_)
    np.testing.assert_array_equal(["".join(map(str, y)) for y in model.predict(X_test)], expected.predict(X_test))
    sets = np.array([list(map(int, name)) for name in expected.classes_])
    P = expected.predict_proba(X_test)
    np.testing.assert_allclose(model.predict_proba(X_test), P @ sets, atol=1e-4)
    marginals = model.set_params(decision="marginals").predict(X_test)
    np.testing.assert_array_equal(marginals, P @ sets > 0.5)
    best = model.set_params(decision="f1").predict(X_test)
    np.testing.assert_array_equal(best, best_expected_f1_of_sets(sets.astype(bool), P))


def test_agrees_with_scikit_multilearn(small):
    transform = pytest.importorskip("skmultilearn.problem_transform")
    X, Y, X_test = small
    expected = transform.LabelPowerset(LogisticRegression()).fit(X, Y).predict(X_test).toarray()
    np.testing.assert_array_equal(LabelPowerset().fit(X, Y).predict(X_test), expected)


def test_one_label_set(small):
    X, _, X_test = small
    for Y in (np.tile([1, 0, 1], (60, 1)), np.ones((60, 2), dtype=int)):
        for decision in ("set", "marginals", "f1"):
            model = LabelPowerset(decision=decision).fit(X, Y)
            assert model.estimator_ is None
            np.testing.assert_array_equal(model.predict(X_test), np.tile(Y[0], (25, 1)))


def test_distinct_sets():
    rng = np.random.default_rng(0)
    Y = rng.random((100, 11)) < 0.1
    sets, codes = distinct_sets(Y)
    np.testing.assert_array_equal(sets[codes], Y)
    assert len(np.unique(sets, axis=0)) == len(sets) == len({tuple(labels) for labels in Y})


def pruned_by_definition(Y, max_count, n_subsets, subsets):
    counts = Counter(map(tuple, Y))
    result = [(i, labels) for i, labels in enumerate(map(tuple, Y)) if counts[labels] > max_count]
    for i, labels in enumerate(map(tuple, Y)):
        if counts[labels] <= max_count:
            parts = [part for part in counts if counts[part] > max_count and sum(part)]
            parts = [part for part in parts if all(a <= b for a, b in zip(part, labels, strict=True))]
            parts.sort(key=lambda part: (-sum(part), -counts[part]))
            large = [part for part in parts if sum(part) > n_subsets]
            result += [(i, part) for part in (parts[:n_subsets] if subsets == "best" else large)]
    return result


@pytest.mark.parametrize("max_count", [1, 3])
@pytest.mark.parametrize("n_subsets", [0, 1, 2])
@pytest.mark.parametrize("subsets", ["best", "large"])
def test_pruning_agrees_with_the_definition(max_count, n_subsets, subsets):
    Y = np.random.default_rng(0).random((80, 5)) < [0.5, 0.4, 0.3, 0.2, 0.1]
    rows, targets = prune_sets(Y, max_count, n_subsets, subsets)
    expected = pruned_by_definition(Y, max_count, n_subsets, subsets)
    assert len(expected) == len(rows)
    # Among subsets of equal size and frequency the choice is free.
    assert Counter((i, sum(part)) for i, part in expected) == Counter(zip(rows, targets.sum(axis=1), strict=True))
    assert not (targets & ~Y[rows]).any()
    if n_subsets != 1 and not (subsets == "best" and n_subsets):
        assert Counter(expected) == Counter((i, tuple(part)) for i, part in zip(rows, targets, strict=True))


def test_pruned_sets_are_not_predicted(small):
    X, Y, X_test = small
    model = LabelPowerset(prune=3).fit(X, Y)
    counts = Counter(map(tuple, Y))
    assert {tuple(labels) for labels in model.label_sets_} == {labels for labels in counts if counts[labels] > 3}
    assert {tuple(labels) for labels in model.predict(X_test)} <= {tuple(labels) for labels in model.label_sets_}
    with pytest.raises(ValueError, match="prune=100 drops all label sets: the most frequent one occurs"):
        LabelPowerset(prune=100).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"decision": "best"}, "decision must be one of"),
        ({"prune": -1}, "prune must be an integer"),
        ({"n_subsets": 1.5}, "n_subsets must be an integer"),
        ({"subsets": "all"}, "subsets must be one of"),
    ],
)
def test_bad_parameters_are_rejected(small, parameters, message):
    X, Y, _ = small
    with pytest.raises(ValueError, match=message):
        LabelPowerset(**parameters).fit(X, Y)


@pytest.mark.slow
def test_reference_values_of_emotions(emotions, measures):
    X, Y, X_test, Y_test = emotions
    model = LabelPowerset(LogisticRegression(max_iter=2000)).fit(X, Y)
    assert len(model.label_sets_) == 26
    values = measures(Y_test, model.predict(X_test), model.predict_proba(X_test))
    expected = [0.2442, 0.2624, 0.5922, 0.5125, 0.6263, 0.6255, 0.1610, 0.8035, 0.3218, 1.782]
    np.testing.assert_allclose(list(values.values())[:6], expected[:6], atol=6e-5)
    # Labels of two samples are tied but for the solver's precision, each of which changes the one-error by 1 / 202.
    np.testing.assert_allclose(list(values.values())[6:], expected[6:], atol=6e-3)
    values = measures(Y_test, model.set_params(decision="marginals").predict(X_test))
    np.testing.assert_allclose(list(values.values()), [0.2244, 0.2673, 0.6069, 0.5260, 0.6449, 0.6435], atol=6e-4)
    assert measures(Y_test, model.set_params(decision="f1").predict(X_test))["f1"] > 0.64


@pytest.mark.slow
def test_reference_values_of_medical(medical, measures):
    X, Y, X_test, Y_test = medical
    model = LabelPowerset(LogisticRegression(C=10, max_iter=2000)).fit(X, Y)
    assert len(model.label_sets_) == 61
    values = measures(Y_test, model.predict(X_test), model.predict_proba(X_test))
    expected = [0.0125, 0.6543, 0.7688, 0.7404, 0.7610, 0.2930, 0.0326, 0.8522, 0.1860, 2.163]
    np.testing.assert_allclose(list(values.values()), expected, atol=6e-4)
    values = measures(Y_test, model.set_params(decision="marginals").predict(X_test))
    np.testing.assert_allclose(list(values.values()), [0.0153, 0.4620, 0.5373, 0.5186, 0.6460, 0.1805], atol=6e-4)
