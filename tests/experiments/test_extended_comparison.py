"""The comparison beyond the paper: its cases, and the damage to data."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from threadpoolctl import threadpool_limits

from sdgs.datasets import REGISTRY, make_composite_digits
from sdgs.experiments._extended_comparison import (
    CLEAN,
    DIGITS,
    TITLES,
    Damage,
    beyond_cases,
    compare,
    damage_data,
    load_digits,
)
from sdgs.experiments._rival_models import is_installed
from sdgs.experiments._tasks import measured_seconds


@pytest.fixture(scope="module")
def data():
    train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(200, max_labels=2, subset="test", random_state=1)
    return train.X, train.Y, test.X, test.Y


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4])
def test_damage_changes_this_share_of_the_entries(share):
    rng = np.random.default_rng(0)
    X, unit = rng.standard_normal((400, 50)), np.linspace(1, 2, 50)
    spiked = Damage("spikes", share).apply(X, unit, rng)
    changed = spiked != X
    assert changed.mean() == pytest.approx(share, abs=0.01)
    size = np.abs(spiked - X) / unit
    assert size[changed].min(initial=3) >= 3 - 1e-9
    assert size[changed].max(initial=6) <= 6 + 1e-9
    with_gaps = Damage("missing", share).apply(X, unit, rng)
    assert np.isnan(with_gaps).mean() == pytest.approx(share, abs=0.01)
    np.testing.assert_array_equal(with_gaps[~np.isnan(with_gaps)], X[~np.isnan(with_gaps)])
    words = csr_array(np.maximum(X, 0))
    sparse = Damage("spikes", share).apply(words, unit, rng)
    assert issparse(sparse)
    changes = np.abs((sparse - words).toarray())
    assert (changes > 0).mean() == pytest.approx(share, abs=0.01)
    assert (changes / unit)[changes > 0].min(initial=3) >= 3 - 1e-9


def test_damage_is_reproducible_and_affects_training_and_test_samples(data):
    first, second = (damage_data(data, Damage("spikes", 0.1), seed=4) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (first[0] != data[0]).any()
    assert (first[2] != data[2]).any()
    spikes = load_digits(0, Damage("spikes", 0.1))[0] - load_digits(0, CLEAN)[0]
    assert set(np.unique(np.abs(spikes))) == {0.0, 16.0}


def test_cases_of_the_comparison():
    cases = beyond_cases(tuple(REGISTRY))
    assert {(d, m) for d, damage, m in cases if damage == CLEAN} >= {
        (d, m) for d in (*REGISTRY, DIGITS) for m in ("sdgs-cv", "sdgs", "br", "ecc", "mlknn", "forest")
    }
    assert {d for d, damage, _ in cases if damage.kind == "missing"} == {"emotions", "mediamill", DIGITS}
    assert {damage.share for d, damage, _ in cases if damage.kind == "spikes"} == {0.0, 0.01, 0.02, 0.05, 0.1}
    assert {d for d, _, m in cases if m == "boosting"} == {"emotions", "mediamill", "genbase", DIGITS}
    assert ("mediamill", CLEAN, "boosting") not in cases
    assert {d for d, _, m in cases if m == "lp"} == {
        d for d in (*REGISTRY, DIGITS) if d not in ("corel5k", "mediamill")
    }
    assert {damage for _, damage, m in cases if m in ("low_rank", "trees", "boomer")} == {CLEAN}
    assert {damage for _, damage, _ in beyond_cases(("mine",))} == {CLEAN}


@pytest.mark.slow
@pytest.mark.parametrize("method", [m for m in TITLES if m not in ("br-mean", "br-knn")])
def test_every_method_learns(data, method):
    if not is_installed(method):
        pytest.skip(f"{method} needs the extra rivals")
    with threadpool_limits(1):
        record = compare(data, method, 0, measured_seconds)
    assert record["test"]["f1"] > 0.6
    assert record["seconds"]["fit"]["wall"] > 0
    assert (record["n_train"], record["n_test"]) == (300, 200)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sdgs-cv", "br-mean", "br-knn", "forest", "boosting"])
def test_every_method_for_missing_entries_accepts_them(data, method):
    with_gaps = damage_data(data, Damage("missing", 0.1), 0)
    assert np.isnan(with_gaps[0]).any()
    with threadpool_limits(1):
        assert compare(with_gaps, method, 0, measured_seconds)["test"]["f1"] > 0.55


@pytest.mark.parametrize("method", ["br", "mlknn", "forest", "sdgs"])
def test_the_samples_used_for_compilation_may_have_no_label(data, method):
    """The first samples are used to compile before times are measured."""
    X, Y, X_test, Y_test = data
    order = np.argsort(Y[:, :2].any(axis=1), kind="stable")
    rare = Y[order][:, :2]
    assert not rare[:40].any()
    assert compare((X[order], rare, X_test, Y_test[:, :2]), method, 0, measured_seconds)["n_train"] == 300
