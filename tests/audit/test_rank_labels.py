"""Pairs in the order of cleanlab, and an estimate of the number of wrong labels that follows planted mistakes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score

from sdgs import SDGSClassifier
from sdgs.audit import rank_suspicious_labels
from sdgs.datasets import load
from sdgs.experiments._planted_mistakes import plant_mistakes

Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
P = np.array([[0.9, 0.2], [0.1, 0.9], [0.2, 0.8], [0.1, 0.9]])


def test_all_pairs_come_in_the_order_of_their_scores():
    ranked = rank_suspicious_labels(Y, P, n_pairs=None)
    assert list(zip(ranked.rows, ranked.labels, strict=True))[:2] == [(1, 0), (1, 1)]
    assert len(ranked) == Y.size
    np.testing.assert_array_equal(ranked.given, Y[ranked.rows, ranked.labels] == 1)
    np.testing.assert_array_equal(ranked.probability, P[ranked.rows, ranked.labels])
    np.testing.assert_allclose(ranked.score, np.abs(Y - P)[ranked.rows, ranked.labels])
    assert (np.diff(ranked.score) <= 0).all()
    assert list(rank_suspicious_labels(Y, P, n_pairs=3).score) == list(ranked.score[:3])
    assert list(ranked.wrong.rows) == [1, 2, 0, 3]
    assert len(ranked.wrong) + len(ranked.missing) == len(ranked)
    assert not ranked.missing.given.any()


def small_matrices(draw):
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    numbers = st.sampled_from([0.0, 0.1, 0.5, 0.79, 0.8, 1.0])
    return draw(arrays(bool, shape)), draw(arrays(float, shape, elements=numbers))


@given(st.data())
def test_what_is_listed_by_default(data):
    given_labels, probabilities = small_matrices(data.draw)
    listed = rank_suspicious_labels(given_labels.astype(int), probabilities)
    ranked = rank_suspicious_labels(given_labels.astype(int), probabilities, n_pairs=None)
    assert listed.n_given == given_labels.sum()
    assert 0 <= listed.n_wrong <= listed.n_given
    assert list(listed.wrong.score) == list(ranked.wrong.score[: listed.n_wrong])
    assert listed.n_missing == len(listed.missing) == (~given_labels & (probabilities >= 0.8)).sum()
    assert (np.diff(listed.score) <= 0).all()


def test_the_estimate_is_the_rate_among_the_least_probable_quarter():
    given_labels = np.zeros((40, 1), dtype=int)
    given_labels[[0, 1, 20, 21, 22, 23, 24, 25, 26, 27]] = 1  # 2 of the least probable 10; 30 are not given
    probabilities = np.linspace(0, 1, 40)[:, None]
    assert rank_suspicious_labels(given_labels, probabilities).n_wrong == round(0.2 * 30)
    assert rank_suspicious_labels(1 - 0 * given_labels, probabilities).n_wrong == 0  # all have it: no one is alike
    assert rank_suspicious_labels(0 * given_labels, probabilities).n_wrong == 0
    given_labels[:] = 0
    given_labels[0] = 1
    assert rank_suspicious_labels(given_labels, probabilities).n_wrong == 1  # not more than are given


def test_the_estimate_does_not_depend_on_the_order_of_equally_probable_samples():
    given_labels, probabilities = np.repeat([[1], [0]], [10, 30], axis=0), np.full((40, 1), 0.3)
    for labels in (given_labels, given_labels[::-1]):
        assert rank_suspicious_labels(labels, probabilities).n_wrong == round(10 / 40 * 30)


@pytest.mark.parametrize("one_label", [False, True])
def test_scores_are_those_of_cleanlab(one_label):
    pytest.importorskip("cleanlab")
    rng = np.random.default_rng(0)
    probabilities = rng.random((50, 4))
    given_labels = rng.random((50, 4)) < 0.4
    if one_label:
        from cleanlab.rank import get_label_quality_scores

        probabilities /= probabilities.sum(axis=1, keepdims=True)
        classes = rng.integers(4, size=50)
        given_labels = np.eye(4, dtype=bool)[classes]
        theirs = get_label_quality_scores(classes, probabilities, method="self_confidence")
        ranked = rank_suspicious_labels(given_labels, probabilities, n_pairs=None, one_label=True)
        np.testing.assert_array_equal(ranked.suggested, probabilities[ranked.rows].argmax(axis=1))
        np.testing.assert_array_equal(ranked.labels, classes[ranked.rows])
        np.testing.assert_allclose(1 - ranked.score, theirs[ranked.rows])
    else:
        from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

        lists = [np.flatnonzero(row).tolist() for row in given_labels]
        theirs = np.asarray(get_label_quality_scores_per_class(lists, probabilities))
        ranked = rank_suspicious_labels(given_labels, probabilities, n_pairs=None)
        np.testing.assert_allclose(1 - ranked.score, theirs[ranked.rows, ranked.labels])
    assert len(ranked) == (50 if one_label else 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yahoo-arts", "emotions"])
def test_planted_mistakes_are_found_as_well_as_by_cleanlab(data_home, name):
    pytest.importorskip("cleanlab")
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    data = load(name, data_home=data_home)
    clean, found = None, []
    for share in (0, 0.05):
        labels, flipped = plant_mistakes(data.Y, share, seed=0)
        model = SDGSClassifier(random_state=0).fit(data.X, csr_array(labels.astype(int)))
        ranked = model.suspicious_labels(n_pairs=None)
        clean = ranked.n_wrong if clean is None else clean
        found.append((ranked.n_wrong, int((flipped & labels).sum())))
    lists = [np.flatnonzero(row).tolist() for row in labels]
    theirs = 1 - np.asarray(
        get_label_quality_scores_per_class(lists, model.out_of_fold_probabilities_.astype(np.float64))
    )
    ours = np.zeros(labels.shape)
    ours[ranked.rows, ranked.labels] = ranked.score
    precision, their_precision = (average_precision_score(flipped.ravel(), scores.ravel()) for scores in (ours, theirs))
    assert precision >= their_precision - 1e-3
    assert precision > 5 * flipped.mean()  # which a random order has
    n_wrong, n_planted = found[1]
    assert 0.6 < (n_wrong - clean) / n_planted < 1.4


def test_names_are_those_of_data_frames_or_given():
    frame = pd.DataFrame(Y, columns=["calm", "sad"], index=list("pqrs"))
    ranked = rank_suspicious_labels(frame, P, n_pairs=1)
    assert (ranked.sample_names[0], ranked.label_names[ranked.labels[0]]) == ("q", "calm")
    ranked = rank_suspicious_labels(frame, P, n_pairs=1, label_names=["x", "y"], sample_names=[4, 5, 6, 7])
    assert (ranked.sample_names[0], ranked.label_names[ranked.labels[0]]) == (5, "x")
    assert rank_suspicious_labels(csr_array(Y), P, n_pairs=1).sample_names[0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probabilities": P[:3]}, "same number of rows, got 3 and 4"),
        ({"probabilities": P[:, :1]}, "must have the same shape"),
        ({"probabilities": P + 1}, "probabilities must be between 0 and 1"),
        ({"probabilities": P * np.nan}, "probabilities must be between 0 and 1"),
        ({"probabilities": P[:, 0]}, "probabilities must be a matrix"),
        ({"Y": 2 * Y}, "Y must hold only 0 and 1"),
        ({"Y": np.ones_like(Y), "one_label": True}, "every sample must have exactly one label"),
        ({"n_pairs": -1}, "n_pairs must be an integer >= 0, got -1"),
        ({"n_pairs": "all"}, "n_pairs must be an integer >= 0, got 'all'"),
        ({"label_names": ["a"]}, "label_names must have 2 names"),
        ({"sample_names": ["a"]}, "sample_names must have 4 names"),
    ],
)
def test_invalid_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        rank_suspicious_labels(**{"Y": Y, "probabilities": P, **arguments})
