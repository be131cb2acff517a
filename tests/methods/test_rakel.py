"""RAkEL."""

from math import comb

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from sdgs.methods import LabelPowerset, RAkEL
from sdgs.methods._rakel import disjoint_labelsets, overlapping_labelsets


@pytest.mark.parametrize("disjoint", [True, False])
@pytest.mark.parametrize("size", [4, 9])
def test_all_labels_in_one_set_are_label_powerset(small, disjoint, size):
    X, Y, X_test = small
    model = RAkEL(labelset_size=size, disjoint=disjoint, random_state=0).fit(X, Y)
    powerset = LabelPowerset().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_test), powerset.predict(X_test))
    marginals = model.set_params(average="marginals").predict_proba(X_test)
    np.testing.assert_array_equal(marginals, powerset.predict_proba(X_test))


@pytest.mark.parametrize("disjoint", [True, False])
def test_sets_of_one_label_are_binary_relevance(small, disjoint):
    X, Y, X_test = small
    model = RAkEL(labelset_size=1, disjoint=disjoint, random_state=0).fit(X, Y)
    expected = OneVsRestClassifier(LogisticRegression()).fit(X, Y[:, :3])
    np.testing.assert_array_equal(model.predict(X_test)[:, :3], expected.predict(X_test))
    np.testing.assert_array_equal(model.decision_function(X_test), model.predict(X_test))
    marginals = model.set_params(average="marginals").predict_proba(X_test)[:, :3]
    np.testing.assert_allclose(marginals, expected.predict_proba(X_test), atol=1e-6)


def test_votes_and_marginals_are_those_of_label_powersets(small):
    X, Y, X_test = small
    model = RAkEL(labelset_size=2, n_labelsets=5, random_state=1).fit(X, Y)
    assert len(model.labelsets_) == 5
    votes, marginals, count = np.zeros((25, 4)), np.zeros((25, 4)), np.zeros(4)
    for labels in model.labelsets_:
        powerset = LabelPowerset().fit(X, Y[:, labels]) if Y[:, labels].any() else None
        votes[:, labels] += powerset.predict(X_test)
        marginals[:, labels] += powerset.predict_proba(X_test)
        count[labels] += 1
    np.testing.assert_allclose(model.decision_function(X_test), votes / count)
    np.testing.assert_array_equal(model.predict(X_test), votes / count > 0.5)
    assert not hasattr(model, "predict_proba")
    model.set_params(average="marginals")
    np.testing.assert_allclose(model.predict_proba(X_test), marginals / count)


@pytest.mark.parametrize("disjoint", [True, False])
@pytest.mark.parametrize("convert", [np.asarray, csr_matrix])
def test_agrees_with_scikit_multilearn(disjoint, convert):
    """Given the same label sets; it draws others."""
    ensemble, clusters = (pytest.importorskip(f"skmultilearn.{name}") for name in ("ensemble", "cluster"))
    transform = pytest.importorskip("skmultilearn.problem_transform")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6)) * (rng.random((150, 6)) < 0.7)
    Y = (X @ rng.standard_normal((6, 7)) + rng.standard_normal((150, 7)) > 0.3).astype(int)
    X, X_test = convert(X[:100]), convert(X[100:])
    model = RAkEL(disjoint=disjoint, random_state=0).fit(X, Y[:100])
    ensemble_of = ensemble.LabelSpacePartitioningClassifier if disjoint else ensemble.MajorityVotingClassifier
    expected = ensemble_of(
        classifier=transform.LabelPowerset(LogisticRegression(), require_dense=[False, True]),
        clusterer=clusters.FixedLabelSpaceClusterer([list(map(int, labels)) for labels in model.labelsets_]),
        require_dense=[False, True],
    )
    expected = expected.fit(X, Y[:100]).predict(X_test)
    # The ensemble of overlapping sets returns a dense matrix.
    np.testing.assert_array_equal(model.predict(X_test), csr_matrix(expected).toarray())


@pytest.mark.parametrize(("k", "size"), [(1, 1), (7, 1), (7, 3), (9, 3), (5, 5)])
def test_disjoint_labelsets_are_a_partition(k, size):
    labelsets = disjoint_labelsets(k, size, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.concatenate(labelsets)), np.arange(k))
    assert [len(labels) for labels in labelsets[:-1]] == [size] * (-(-k // size) - 1)


@pytest.mark.parametrize("number", ["fewest", "some", "all"])
@pytest.mark.parametrize(("k", "size"), [(1, 1), (6, 1), (7, 3), (9, 3), (5, 5), (8, 4), (60, 7)])
def test_overlapping_labelsets_differ_and_cover_all_labels(k, size, number):
    fewest = -(-k // size)
    number = {"fewest": fewest, "some": min(fewest + 20, comb(k, size)), "all": min(comb(k, size), 500)}[number]
    for seed in range(5):
        labelsets = overlapping_labelsets(k, size, number, np.random.default_rng(seed))
        assert {len(labels) for labels in labelsets} == {size}
        assert len({tuple(labels) for labels in labelsets}) == len(labelsets) == number
        np.testing.assert_array_equal(np.unique(np.concatenate(labelsets)), np.arange(k))


def test_number_of_labelsets(small):
    X, Y, _ = small
    assert len(RAkEL(labelset_size=2, random_state=0).fit(X, Y).labelsets_) == 6  # all pairs of 4 labels
    assert len(RAkEL(labelset_size=2, random_state=0).fit(np.tile(X, 2), np.tile(Y, 2)).labelsets_) == 16
    assert len(RAkEL(labelset_size=3, n_labelsets=100, random_state=0).fit(X, Y).labelsets_) == 4
    with pytest.raises(ValueError, match="n_labelsets=1 sets of 3 labels cannot cover 4 labels"):
        RAkEL(n_labelsets=1).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"labelset_size": 0}, "labelset_size must be an integer"),
        ({"n_labelsets": "all"}, "n_labelsets must be one of 'auto'"),
        ({"n_labelsets": 0}, "n_labelsets must be an integer"),
        ({"disjoint": "yes"}, "disjoint must be one of"),
        ({"average": "mean"}, "average must be one of"),
    ],
)
def test_bad_parameters_are_rejected(small, parameters, message):
    X, Y, _ = small
    with pytest.raises(ValueError, match=message):
        RAkEL(**parameters).fit(X, Y)


@pytest.mark.slow
def test_reference_values_of_emotions(emotions, measures):
    X, Y, X_test, Y_test = emotions
    base = LogisticRegression(max_iter=2000)

    def values(seed, **parameters):
        model = RAkEL(base, random_state=seed, **parameters).fit(X, Y)
        return list(measures(Y_test, model.predict(X_test), model.decision_function(X_test)).values())[:8]

    # The middle of the ranges of three seeds, and their half widths plus two points
    disjoint = np.mean([values(seed, disjoint=True) for seed in range(3)], axis=0)
    expected = [0.2265, 0.2525, 0.617, 0.527, 0.651, 0.642, 0.425, 0.63]
    np.testing.assert_allclose(disjoint, expected, atol=0.04)
    votes = np.mean([values(seed) for seed in range(3)], axis=0)
    np.testing.assert_allclose(votes, [0.222, 0.2455, 0.619, 0.527, 0.657, 0.6485, 0.28, 0.74], atol=0.03)
    marginals = np.mean([values(seed, average="marginals") for seed in range(3)], axis=0)
    assert marginals[6] < 0.17
    assert marginals[7] > 0.8


@pytest.mark.slow
def test_reference_values_of_medical(medical, measures):
    X, Y, X_test, Y_test = medical
    base = LogisticRegression(C=10, max_iter=2000)
    disjoint = measures(Y_test, RAkEL(base, disjoint=True, random_state=0).fit(X, Y).predict(X_test))
    np.testing.assert_allclose(list(disjoint.values()), [0.0138, 0.5125, 0.598, 0.577, 0.6965, 0.216], atol=0.02)
    votes = measures(Y_test, RAkEL(base, random_state=0).fit(X, Y).predict(X_test))
    np.testing.assert_allclose(list(votes.values()), [0.0139, 0.5132, 0.6022, 0.5798, 0.6973, 0.2195], atol=0.03)
