"""The splitters: what every split must hold, scikit-learn's interface, groups, classes, and errors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_matrix, csr_array, lil_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.multioutput import MultiOutputClassifier

from sdgs.model_selection import (
    MultilabelStratifiedKFold,
    MultilabelStratifiedShuffleSplit,
    RepeatedMultilabelStratifiedKFold,
    fold_quality,
    multilabel_train_test_split,
)


def make_labels(n=300, k=12, seed=0):
    """Labels from frequent to rare, some of which occur together, and samples without labels."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, k)) < 0.5 / np.arange(1, k + 1)).astype(int)
    Y[:, 1] |= Y[:, 2]
    Y[rng.random(n) < 0.1] = 0
    return Y


def fold_numbers(splits, n):
    folds = np.full(n, -1)
    for number, (train, test) in enumerate(splits):
        assert (folds[test] == -1).all()
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(n))
        folds[test] = number
    return folds


labels = st.tuples(st.integers(2, 40), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1]))
)


@settings(deadline=None)
@given(Y=labels, n_splits=st.integers(2, 6), order=st.sampled_from([1, 2]), seed=st.none() | st.integers(0, 9))
def test_folds_are_a_partition_of_equal_sizes(Y, n_splits, order, seed):
    n_splits = min(n_splits, len(Y))
    cv = MultilabelStratifiedKFold(n_splits, shuffle=seed is not None, random_state=seed, order=order)
    folds = fold_numbers(cv.split(Y, Y), len(Y))
    sizes = np.bincount(folds, minlength=n_splits)
    assert folds.min() == 0
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(folds, fold_numbers(cv.split(Y, Y), len(Y))), "the same seed gives the same folds"


@pytest.mark.parametrize("n", [301, 303, 304])
def test_sizes_are_exact_where_labels_want_other_sizes(n):
    for seed in range(10):
        Y = make_labels(n, seed=seed)
        Y[~Y.any(axis=1), 0] = 1  # samples without labels would make the sizes equal
        sizes = [test.size for _, test in MultilabelStratifiedKFold(5, random_state=seed).split(Y, Y)]
        assert sorted(sizes) == [n // 5] * (5 - n % 5) + [n // 5 + 1] * (n % 5)


@settings(deadline=None)
@given(Y=labels, test_size=st.floats(0.2, 0.6), seed=st.integers(0, 9))
def test_shuffle_splits_have_the_sizes_of_scikit_learn(Y, test_size, seed):
    n_test = int(np.ceil(test_size * len(Y)))
    if n_test == len(Y):
        return
    train, test = next(MultilabelStratifiedShuffleSplit(1, test_size=test_size, random_state=seed).split(Y, Y))
    assert test.size == n_test
    assert np.array_equal(np.sort(np.r_[train, test]), np.arange(len(Y)))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n_splits", [2, 5, 10])
def test_every_label_is_shared_out_almost_equally(order, n_splits):
    Y = make_labels()
    for seed in range(5):
        splits = MultilabelStratifiedKFold(n_splits, random_state=seed, order=order).split(Y, Y)
        counts = np.array([Y[test].sum(axis=0) for _, test in splits])
        assert (counts.max(axis=0) - counts.min(axis=0)).max() <= (2 if order == 1 else 4)


def test_second_order_shares_out_pairs_of_labels():
    rng = np.random.default_rng(0)
    Y = (rng.random((600, 4)) < 0.5).astype(int)
    pairs = np.stack([Y[:, i] * Y[:, j] for i in range(4) for j in range(i)], axis=1)
    spread = {}
    for order in (1, 2):
        splits = [MultilabelStratifiedKFold(5, random_state=seed, order=order).split(Y, Y) for seed in range(5)]
        spread[order] = np.mean([fold_quality(pairs, split).label_distribution for split in splits])
    assert spread[2] < 0.3 * spread[1]


def test_one_label_and_no_labels():
    alternating = np.tile([[1], [0]], (10, 1))
    assert [alternating[test].sum() for _, test in MultilabelStratifiedKFold(5).split(alternating, alternating)] == [
        2
    ] * 5
    nothing = np.zeros((7, 3), dtype=int)
    assert sorted(test.size for _, test in MultilabelStratifiedKFold(3).split(nothing, nothing)) == [2, 2, 3]


@pytest.mark.parametrize(
    "convert", [csr_array, csc_matrix, lil_array, pd.DataFrame, lambda Y: Y.astype(bool), np.ndarray.tolist]
)
def test_all_kinds_of_labels_give_the_same_folds(convert):
    Y = make_labels(60)
    cv = MultilabelStratifiedKFold(3, random_state=0)
    for (_, expected), (_, actual) in zip(cv.split(Y, Y), cv.split(np.zeros((60, 1)), convert(Y)), strict=True):
        assert np.array_equal(actual, expected)


def test_without_shuffle_folds_need_no_seed():
    Y = make_labels()
    first, second = (fold_numbers(MultilabelStratifiedKFold(4, shuffle=False).split(Y, Y), 300) for _ in range(2))
    assert np.array_equal(first, second)
    seeds = [fold_numbers(MultilabelStratifiedKFold(4, random_state=seed).split(Y, Y), 300) for seed in (0, 1)]
    assert not np.array_equal(*seeds)


def test_repeats_differ():
    Y = make_labels(100)
    cv = RepeatedMultilabelStratifiedKFold(4, n_repeats=3, random_state=0)
    splits = list(cv.split(Y, Y))
    assert len(splits) == cv.get_n_splits() == 12
    repeats = [fold_numbers(splits[start : start + 4], 100) for start in (0, 4, 8)]
    assert not np.array_equal(repeats[0], repeats[1])
    assert not np.array_equal(repeats[1], repeats[2])
    for (_, expected), (_, actual) in zip(splits, cv.split(Y, Y), strict=True):
        assert np.array_equal(actual, expected)


def test_shuffle_split_with_both_sizes_leaves_samples_out():
    Y = make_labels()
    cv = MultilabelStratifiedShuffleSplit(3, test_size=60, train_size=120, random_state=0)
    tests = []
    for train, test in cv.split(Y, Y):
        assert (train.size, test.size, np.intersect1d(train, test).size) == (120, 60, 0)
        assert np.abs(Y[train].sum(axis=0) - 0.4 * Y.sum(axis=0)).max() <= 2
        assert np.abs(Y[test].sum(axis=0) - 0.2 * Y.sum(axis=0)).max() <= 2
        tests.append(np.sort(test))
    assert not np.array_equal(tests[0], tests[1])
    assert next(MultilabelStratifiedShuffleSplit().split(Y, Y))[1].size == 30


def test_train_test_split():
    Y = make_labels(200)
    X = pd.DataFrame({"a": np.arange(200)})
    X_train, X_test, Y_train, Y_test, ids_train, ids_test = multilabel_train_test_split(
        X, csr_array(Y), list(range(200)), stratify=Y, test_size=0.3, random_state=0
    )
    assert isinstance(X_train, pd.DataFrame)
    assert X_test["a"].tolist() == ids_test
    assert np.array_equal(Y_train.toarray(), Y[ids_train])
    assert len(ids_test) == Y_test.shape[0] == 60
    assert sorted(ids_train + ids_test) == list(range(200))
    assert np.abs(Y_test.sum(axis=0) - 0.3 * Y.sum(axis=0)).max() <= 1.5
    assert len(multilabel_train_test_split(X, stratify=Y)[1]) == 50
    assert len(multilabel_train_test_split(X, stratify=Y, train_size=20)[1]) == 180


@settings(deadline=None)
@given(Y=labels, n_splits=st.integers(2, 4), order=st.sampled_from([1, 2]), data=st.data())
def test_groups_are_never_divided(Y, n_splits, order, data):
    groups = data.draw(arrays(np.int64, len(Y), elements=st.integers(-9, 9)))
    if np.unique(groups).size < n_splits:
        return
    splits = list(MultilabelStratifiedKFold(n_splits, random_state=0, order=order).split(Y, Y, groups))
    folds = fold_numbers(splits, len(Y))
    assert all(np.unique(folds[groups == group]).size == 1 for group in np.unique(groups))
    assert all(test.size > 0 for _, test in splits)
    train, test = next(MultilabelStratifiedShuffleSplit(1, test_size=0.5, order=order).split(Y, Y, groups))
    assert not set(groups[train]) & set(groups[test])
    assert train.size > 0
    assert test.size > 0


def test_no_fold_is_empty_beside_a_large_group():
    groups = [*[0] * 10, 1, 2, 3, 4]
    for Y in (np.ones((14, 1)), np.zeros((14, 1))):
        for seed in range(10):
            splits = MultilabelStratifiedKFold(5, random_state=seed).split(Y, Y, groups)
            assert sorted(test.size for _, test in splits) == [1, 1, 1, 1, 10]


@pytest.mark.parametrize("seed", range(3))
def test_groups_stay_together(seed):
    rng = np.random.default_rng(seed)
    Y = make_labels(1000, seed=seed)
    groups = np.array([f"group {number}" for number in rng.integers(200, size=1000) ** 2 // 200])
    splits = list(MultilabelStratifiedKFold(5, random_state=seed).split(Y, Y, groups))
    folds = fold_numbers(splits, 1000)
    assert all(np.unique(folds[groups == group]).size == 1 for group in np.unique(groups))
    assert np.abs(np.bincount(folds) - 200).max() <= 4
    by_size = GroupKFold(5, shuffle=True, random_state=seed).split(Y, Y, groups)
    assert fold_quality(Y, splits).label_distribution < 0.6 * fold_quality(Y, by_size).label_distribution
    train, test = next(MultilabelStratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(Y, Y, groups))
    assert not set(groups[train]) & set(groups[test])
    assert abs(test.size - 250) <= 10


def test_groups_of_one_sample_have_exact_sizes():
    Y = make_labels(101)
    splits = MultilabelStratifiedKFold(4, random_state=0).split(Y, Y, np.arange(101)[::-1])
    assert sorted(test.size for _, test in splits) == [25, 25, 25, 26]


def test_a_group_larger_than_a_fold():
    Y = make_labels(50)
    splits = MultilabelStratifiedKFold(3, random_state=0).split(Y, Y, np.minimum(np.arange(50) // 5, 3))
    assert sorted(test.size for _, test in splits) == [5, 10, 35]


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(30), 4)])
def test_classes_are_split_as_by_scikit_learn(groups):
    y = np.random.default_rng(0).choice(["a", "b", "c"], size=120)
    X = np.zeros((120, 1))
    expected = (StratifiedKFold if groups is None else StratifiedGroupKFold)(4, shuffle=True, random_state=3)
    actual = MultilabelStratifiedKFold(4, random_state=3)
    for (_, a), (_, b) in zip(expected.split(X, y, groups), actual.split(X, y, groups), strict=True):
        assert np.array_equal(a, b)
    splits = MultilabelStratifiedShuffleSplit(2, random_state=3).split(X, y, groups)
    if groups is None:
        for (_, a), (_, b) in zip(StratifiedShuffleSplit(2, random_state=3).split(X, y), splits, strict=True):
            assert np.array_equal(a, b)
    else:
        for train, test in splits:
            assert not set(groups[train]) & set(groups[test])
            assert test.size == 12


def test_scikit_learn_takes_the_splitters():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    Y = (X[:, :3] + 0.3 * rng.standard_normal((90, 3)) > 0).astype(int)
    cv = RepeatedMultilabelStratifiedKFold(3, n_repeats=2, random_state=0)
    assert cross_val_score(MultiOutputClassifier(LogisticRegression()), X, Y, cv=cv).shape == (6,)
    folds = MultilabelStratifiedKFold(3, random_state=0)
    assert cross_val_score(MultiOutputClassifier(LogisticRegression()), X, Y, cv=folds).min() > 0.4
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=MultilabelStratifiedShuffleSplit(2, random_state=0))
    assert search.fit(X, Y).n_splits_ == 2
    assert repr(clone(search).cv) == repr(search.cv)
    groups = np.arange(90) // 3
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(
            Ridge(),
            X,
            Y,
            cv=MultilabelStratifiedKFold(3, random_state=0),
            params={"groups": groups},
            return_indices=True,
        )
    assert not set(groups[scores["indices"]["train"][0]]) & set(groups[scores["indices"]["test"][0]])


def test_repr_names_the_parameters():
    assert repr(MultilabelStratifiedKFold(3, random_state=1)) == (
        "MultilabelStratifiedKFold(n_splits=3, order=1, random_state=1, shuffle=True)"
    )
    assert repr(RepeatedMultilabelStratifiedKFold(order=2)) == (
        "RepeatedMultilabelStratifiedKFold(n_repeats=10, n_splits=5, order=2,\n                 random_state=None)"
    )
    assert repr(MultilabelStratifiedShuffleSplit(2, test_size=0.3)).startswith(
        "MultilabelStratifiedShuffleSplit(n_splits=2, order=1, random_state=None"
    )


Y_SMALL = make_labels(6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MultilabelStratifiedKFold(1), "n_splits must be an integer >= 2, got 1"),
        (lambda: MultilabelStratifiedKFold(order=3), "order must be one of 1, 2; got 3"),
        (lambda: MultilabelStratifiedKFold(shuffle=False, random_state=0), "random_state has no effect"),
        (lambda: next(MultilabelStratifiedKFold(3).split(Y_SMALL)), "y must be given"),
        (lambda: next(MultilabelStratifiedKFold(7).split(Y_SMALL, Y_SMALL)), "6 samples, which is fewer than the 7"),
        (lambda: next(MultilabelStratifiedKFold(3).split(Y_SMALL, Y_SMALL, [0, 0, 0, 1, 1, 1])), "2 groups, which is"),
        (lambda: next(MultilabelStratifiedKFold(2).split(Y_SMALL, 2 * Y_SMALL)), "y must hold only 0 and 1"),
        (lambda: next(MultilabelStratifiedKFold(2).split(Y_SMALL, np.linspace(0, 1, 6))), "Supported target types"),
        (lambda: next(MultilabelStratifiedKFold(2).split(Y_SMALL[:5], Y_SMALL)), "inconsistent numbers of samples"),
        (lambda: next(MultilabelStratifiedShuffleSplit(test_size=9).split(Y_SMALL, Y_SMALL)), "test_size=9"),
        (lambda: multilabel_train_test_split(stratify=Y_SMALL), "at least one array"),
        (lambda: multilabel_train_test_split(Y_SMALL[:5], stratify=Y_SMALL), "inconsistent numbers of samples"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lists_of_labels_are_split_as_their_matrix():
    Y = np.random.default_rng(0).random((40, 3)) < 0.4
    y = [np.array(["a", "b", "c"])[row].tolist() for row in Y]
    cv = MultilabelStratifiedKFold(4, random_state=0)
    for of_lists, of_matrix in zip(cv.split(np.zeros((40, 1)), y), cv.split(np.zeros((40, 1)), Y), strict=True):
        np.testing.assert_array_equal(of_lists[1], of_matrix[1])


def test_unobserved_labels_count_as_labels_that_samples_lack():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 4)) < 0.3).astype(float)
    zeros = Y.copy()
    mask = rng.random(Y.shape) < 0.2
    Y[mask], zeros[mask] = np.nan, 0
    stored = csr_array(np.nan_to_num(Y)) + csr_array(mask.astype(float)) * np.nan
    cv = MultilabelStratifiedKFold(3, random_state=0)
    expected = list(cv.split(zeros, zeros))
    for labels in (Y, pd.DataFrame(Y), pd.DataFrame(Y).astype("Int64"), stored):
        for (train, test), (expected_train, expected_test) in zip(cv.split(Y, labels), expected, strict=True):
            np.testing.assert_array_equal(train, expected_train)
            np.testing.assert_array_equal(test, expected_test)
        assert fold_quality(labels, expected) == fold_quality(zeros, expected)
    with pytest.raises(ValueError, match="contains NaN"):
        next(cv.split(Y, Y[:, 0]))  # classes
