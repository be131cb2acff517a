"""Suspicious labels and duplicates where some labels are unobserved."""

import numpy as np
import pandas as pd
import pytest

from sdgs import ModelFileError, SDGSClassifier, load
from sdgs.audit import find_differing_duplicates, rank_suspicious_labels, write_audit_page
from sdgs.datasets import make_label_subspaces, mask_labels


def make_case(n=80, k=4, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.random((n, k))
    Y = (rng.random((n, k)) < P).astype(int)
    return mask_labels(Y, rng.random((n, k)) < 0.3), P


def test_unobserved_pairs_are_not_suspicious():
    Y, P = make_case()
    everything = rank_suspicious_labels(Y, P, n_pairs=None)
    assert len(everything) == (~np.isnan(Y)).sum()
    assert not np.isnan(Y[everything.rows, everything.labels]).any()
    np.testing.assert_array_equal(everything.given, Y[everything.rows, everything.labels] == 1)
    assert everything.n_given == (Y == 1).sum()
    assert everything.n_missing == ((Y == 0) & (P >= 0.8)).sum()
    by_default = rank_suspicious_labels(pd.DataFrame(Y), P)
    assert by_default.n_wrong == everything.n_wrong
    assert not np.isnan(Y[by_default.rows, by_default.labels]).any()


def test_the_estimate_of_wrong_labels_is_that_of_the_observed_samples():
    Y, P = make_case(k=1)
    on = ~np.isnan(Y[:, 0])
    assert rank_suspicious_labels(Y, P).n_wrong == rank_suspicious_labels(Y[on], P[on]).n_wrong > 0


def slow_duplicates(Y):
    """Pairs of samples that disagree on a label which is observed of both."""
    return {
        (i, j)
        for i in range(len(Y))
        for j in range(i + 1, len(Y))
        if any(a != b and not np.isnan(a + b) for a, b in zip(Y[i], Y[j], strict=True))
    }


@pytest.mark.parametrize("seed", range(5))
def test_duplicates_differ_in_labels_observed_of_both(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        Y = rng.choice([0, 1, np.nan], size=(3, 3))
        X = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]) if rng.random() < 0.5 else np.eye(3)[:, :2]
        found = find_differing_duplicates(X, Y, max_distance=10)
        differing = slow_duplicates(Y)
        pairs = set(map(tuple, found.rows.tolist()))
        assert pairs <= differing
        assert {i for pair in pairs for i in pair} == {i for pair in differing for i in pair}
        for position, (i, j) in enumerate(found.rows.tolist()):
            assert found.only_first(position) == np.flatnonzero((Y[i] == 1) & (Y[j] == 0)).tolist()
            assert found.only_second(position) == np.flatnonzero((Y[i] == 0) & (Y[j] == 1)).tolist()
            assert found.shared(position) == np.flatnonzero((Y[i] == 1) & (Y[j] == 1)).tolist()


def test_a_model_remembers_what_was_unobserved(tmp_path):
    data = make_label_subspaces(90, 12, 4, noise=0.3, random_state=0)
    mask = np.random.default_rng(0).random(data.Y.shape) < 0.3
    Y = mask_labels(data.Y, mask)
    weight = np.ones(90)
    weight[:5] = 0
    model = SDGSClassifier(random_state=0).fit(data.X, Y, sample_weight=weight)
    model.save(tmp_path / "model.sdgs")
    rows = model.out_of_fold_rows_
    expected = rank_suspicious_labels(Y[rows], model.out_of_fold_probabilities_, n_pairs=None)
    for fitted in (model, load(tmp_path / "model.sdgs")):
        suspicious = fitted.suspicious_labels(n_pairs=None)
        assert len(suspicious) == (~mask[rows]).sum()
        np.testing.assert_array_equal(suspicious.rows, rows[expected.rows])
        np.testing.assert_array_equal(suspicious.labels, expected.labels)
        assert suspicious.n_wrong == expected.n_wrong
    others = model.suspicious_labels(data.X, Y, n_pairs=None)
    assert len(others) == (~mask).sum()
    page = write_audit_page(suspicious, find_differing_duplicates(data.X, Y), data.X, Y, tmp_path / "page.html")
    assert page.stat().st_size > 1000
    model._out_of_fold.unobserved[:] = model._out_of_fold.unobserved[::-1].copy()
    with pytest.raises(ModelFileError, match="unobserved must be ascending"):
        model.save(tmp_path / "other.sdgs")
