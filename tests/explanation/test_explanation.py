"""Samples taken apart: the parts sum to the sample, shares to one, and words say what the arrays say."""

import pickle
import re
import sys
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array

from sdgs import Explanation, SDGSClassifier, SDGSClassifierCV, decompose, label_angles
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.explanation import Terms, explain_samples

MODELS = {
    "rows": {"scaling": "rows"},
    "as it is": {"scaling": None},
    "columns": {"scaling": "columns"},
    "columns, huber": {"scaling": "columns", "huber": 0.1},
    "idf": {"scaling": "idf"},
    "idf, huber": {"scaling": "idf", "huber": 0.05},
    "huber": {"scaling": "rows", "huber": 0.05},
    "kernel": {"scaling": "rows", "gamma": 1.0, "n_landmarks": 30},
    "norm": {"scaling": "rows", "readout": "norm", "threshold": 0.01},
    "1-D": {"scaling": "rows"},
    "1-D, norm": {"scaling": "rows", "readout": "norm"},
}


@cache
def fitted(kind, dtype="float64"):
    data = make_label_subspaces(150, 12, 4, n_components=2, noise=0.05, random_state=0)
    X = (np.abs(data.X) if "idf" in kind else data.X + (3.0 if "columns" in kind else 0.0)).astype(dtype)
    y = data.Y.argmax(axis=1) if "1-D" in kind else data.Y
    return SDGSClassifier(2, cv=2, random_state=0, **MODELS[kind]).fit(X, y), X


@pytest.fixture(scope="module")
def digits():
    train = make_composite_digits(800, max_labels=2, spikes=0.03, subset="train", random_state=0)
    test = make_composite_digits(40, max_labels=2, spikes=0.03, subset="test", random_state=1)
    return SDGSClassifier(huber=0.05, random_state=0).fit(train.X, train.Y), test


@given(
    kind=st.sampled_from(sorted(MODELS)),
    form=st.sampled_from(["dense", "sparse", "frame"]),
    dtype=st.sampled_from(["float64", "float32"]),
    missing=st.sampled_from([0.0, 0.2, 1.0]),
    spikes=st.booleans(),
    given_labels=st.booleans(),
    exponent=st.integers(-15, 15),
    seed=st.integers(0, 99),
)
@settings(max_examples=150, deadline=None)
def test_parts_sum_to_the_sample(kind, form, dtype, missing, spikes, given_labels, exponent, seed):
    model, X = fitted(kind, dtype)
    rng = np.random.default_rng(seed)
    X = X[rng.choice(len(X), 5, replace=False)].copy()
    X[rng.random(X.shape) < 0.3] = 0
    if spikes:
        X[rng.random(X.shape) < 0.1] *= 50
    if kind not in ("as it is", "columns", "columns, huber"):  # there units mean something
        X *= np.asarray(10.0**exponent, dtype=dtype)
    X[rng.random(X.shape) < missing] = np.nan
    labels = rng.integers(0, 2, (5, len(model.components_))) if given_labels else None
    data = {"dense": lambda: X, "sparse": lambda: csr_array(X), "frame": lambda: pd.DataFrame(X)}[form]()
    explanation = model.explain(data, labels)
    eps = {"float64": 1e-10, "float32": 4 * np.finfo(np.float32).eps}[dtype]
    assert len(explanation) == 5
    for row, sample in enumerate(explanation):
        parts = [sample.baseline, *sample.contributions, sample.residual]
        assert all(part.dtype == np.dtype(dtype) for part in parts)
        total = np.sum(parts, axis=0, dtype=np.float64)
        seen = ~np.isnan(X[row])
        largest = np.abs([sample.filled, sample.baseline]).max()
        assert (np.abs(total - sample.filled) <= eps * largest).all()
        np.testing.assert_array_equal(sample.filled[seen], X[row][seen])
        np.testing.assert_array_equal(sample.sample, X[row])
        np.testing.assert_array_equal(sample.missing, np.flatnonzero(~seen))
        assert not sample.residual[~seen].any()
        if labels is not None:
            np.testing.assert_array_equal(sample.labels, np.flatnonzero(labels[row]))
    np.testing.assert_array_equal(explanation.contributions(), model.contributions(data, labels))


@given(angle=st.floats(1e-16, 1.5), seed=st.integers(0, 99), scale=st.sampled_from([1e-200, 1e-5, 1.0, 1e150]))
@settings(max_examples=100, deadline=None)
def test_subspaces_that_nearly_coincide_cost_no_digits(angle, seed, scale):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((8, 3)))[0].T
    twin = np.vstack([np.cos(angle) * Q[0] + np.sin(angle) * Q[1], Q[2]])
    terms = Terms(np.arange(2), np.arange(8), (Q[[0, 2]], twin), None, np.ones(8))
    X = rng.standard_normal((1, 8)) * scale
    (sample,) = explain_samples(X, np.ones((1, 2), bool), terms, probabilities=None, corruption=None, names=[0])
    total = sample.baseline + sample.contributions.sum(axis=0) + sample.residual
    assert np.linalg.norm((total - X[0]) / scale) <= 1e-10 * np.linalg.norm(X[0] / scale)
    rest = np.linalg.norm(sample.residual / scale) ** 2 / np.linalg.norm(X[0] / scale) ** 2
    assert sample.shares.sum() + rest == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_parts_are_least_squares_and_shares_sum_to_one(kind):
    model, X = fitted(kind)
    X = X[:20].copy()
    X[::2, 3] = np.nan
    explanation = model.explain(X, np.ones((20, len(model.components_))))
    shares = explanation.shares()
    for row, sample in enumerate(explanation):
        corruption = 0 if sample.corruption is None else sample.corruption
        seen = ~np.isnan(X[row])
        rest = np.where(seen, sample.residual - corruption, 0) / sample.terms.unit
        z = np.where(seen, X[row] - corruption - sample.baseline, 0) / sample.terms.unit
        for i in sample.labels:
            np.testing.assert_allclose(model.components_[i] @ rest, 0, atol=1e-8)
        assert sample.shares.sum() + (rest @ rest) / (z @ z) == pytest.approx(1, abs=1e-9)
        np.testing.assert_allclose(sample.evidence().sum(axis=1), sample.shares, atol=1e-12)
        np.testing.assert_allclose(shares[row, sample.labels], sample.shares)
        for b, C, part in zip(
            sample.coefficients, (model.components_[i] for i in sample.labels), sample.contributions, strict=True
        ):
            np.testing.assert_allclose(part / sample.terms.unit, b @ C, atol=1e-12)
    stacked = np.vstack(model.components_)
    np.testing.assert_allclose(
        explanation.coefficients().toarray() @ stacked * explanation.terms.unit,
        explanation.contributions().sum(axis=1),
        atol=1e-9,
    )


def test_shares_where_subspaces_overlap():
    axes = np.eye(4)
    terms = Terms(np.array(["a", "b", "c"]), np.arange(4), (axes[:2], axes[1:3], axes[3:]), None, np.ones(4))
    (sample,) = explain_samples(
        np.array([[1.0, 2.0, 3.0, 0.0]]),
        np.array([[True, True, True]]),
        terms,
        probabilities=None,
        corruption=None,
        names=["one"],
    )
    # The second entry is in both subspaces: each gets half of it, and neither has it for itself.
    np.testing.assert_allclose(sample.contributions, [[1, 1, 0, 0], [0, 1, 3, 0], [0, 0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(sample.shares, np.array([1 + 2, 9 + 2, 0]) / 14, atol=1e-12)
    np.testing.assert_allclose(sample.unique_shares, np.array([1, 9, 0]) / 14, atol=1e-12)
    assert sample.reasons(0).tolist() == [1, 0]
    assert sample.reasons(1, 1).tolist() == [2]
    assert sample.reasons(2).tolist() == []
    assert "c explains 0 % of the sample; no features speak for it." in sample.text()


def test_probabilities_and_labels_are_those_that_are_predicted(digits):
    model, test = digits
    explanation = model.explain(test.X)
    p, predicted = model.predict_proba(test.X), model.predict(test.X)
    for row, sample in enumerate(explanation):
        np.testing.assert_array_equal(sample.labels, np.flatnonzero(predicted[row]))
        np.testing.assert_allclose(sample.probabilities, p[row, sample.labels])
    norm, X = fitted("norm")
    assert norm.explain(X[:2])[0].probabilities is None
    one, X = fitted("1-D")
    for sample, proba in zip(one.explain(X[:9]), one.predict_proba(X[:9]), strict=True):
        assert sample.labels.tolist() == [proba.argmax()]
        np.testing.assert_allclose(sample.probabilities, proba.max())


def test_what_looks_corrupted_is_what_was(digits):
    model, test = digits
    clean = make_composite_digits(40, max_labels=2, subset="test", random_state=1).X
    explanation = model.explain(test.X, test.Y)
    np.testing.assert_allclose(
        test.X - np.vstack([sample.corruption for sample in explanation]), model.transform(test.X), atol=1e-9
    )
    worst = nearer = spiked = 0
    for row, sample in enumerate(explanation):
        wrong = np.flatnonzero(test.X[row] != clean[row])
        assert set(np.flatnonzero(sample.corruption)) == set(sample.corrupted)
        sizes = np.abs(sample.corruption[sample.corrupted])
        assert (np.diff(sizes) <= 0).all()
        worst += sample.corrupted[0] in wrong
        spiked += wrong.size
        nearer += (np.abs(sample.expected - clean[row]) < np.abs(test.X[row] - clean[row]))[wrong].sum()
        first = sample.top_residuals(1)[0]
        assert first.corrupted
        assert first.value == test.X[row, first.feature]
        assert first.expected == pytest.approx(sample.expected[first.feature])
    assert worst > 0.8 * len(test.X)
    assert nearer > 0.9 * spiked
    plain, X = fitted("rows")
    sample = plain.explain(X[:1])[0]
    assert sample.corrupted is sample.corruption is None
    entries = sample.top_residuals(3)
    assert [entry.corrupted for entry in entries] == [None] * 3
    assert [entry.feature for entry in entries] == np.argsort(-np.abs(sample.residual))[:3].tolist()


def test_frames_sum_to_the_sample_too():
    model, X = fitted("columns")
    frame = pd.DataFrame(X[:4], columns=[f"f{j}" for j in range(12)], index=list("abcd"))
    named = SDGSClassifier(2, cv=2, scaling="columns", random_state=0).fit(
        pd.DataFrame(X, columns=frame.columns), pd.DataFrame(model.predict(X), columns=list("wxyz"))
    )
    explanation = named.explain(frame)
    table = explanation.to_frame()
    assert list(table.columns) == ["sample", "part", "label", "feature", "contribution"]
    total = table.pivot_table(index="sample", columns="feature", values="contribution", aggfunc="sum")
    np.testing.assert_allclose(total[frame.columns], frame, rtol=1e-10)
    assert set(table.label.dropna()) <= set("wxyz")
    few = explanation.to_frame(max_features=2)
    assert (few.groupby(["sample", "part", "label"], dropna=False).size() == 2).all()
    labels = explanation.to_frame(by="label")
    assert list(labels.columns) == ["sample", "label", "probability", "share", "unique_share"]
    assert labels.share.to_numpy() == pytest.approx(np.concatenate([sample.shares for sample in explanation]))
    assert labels.probability.between(0, 1).all()
    norm, X = fitted("norm")
    assert norm.explain(X[:3], np.ones((3, 4))).to_frame(by="label").probability.isna().all()
    assert len(norm.explain(X[:3])[:0].to_frame()) == 0
    with pytest.raises(ValueError, match="by must be one of 'feature', 'label'"):
        explanation.to_frame(by="day")


def test_no_pandas_is_said(monkeypatch):
    model, X = fitted("rows")
    explanation = model.explain(X[:1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        explanation.to_frame()


def handmade(x, unit=None, baseline=None, corruption=None):
    axes = np.eye(4)
    terms = Terms(
        np.array(["arts", "<news>"]),
        np.array(["painting", "gallery", "vote", "rain"]),
        (axes[:2], axes[2:3]),
        baseline,
        np.ones(4) if unit is None else unit,
    )
    (sample,) = explain_samples(
        np.array([x]),
        np.ones((1, 2), bool),
        terms,
        probabilities=np.array([[0.83, 0.5]]),
        corruption=None if corruption is None else csr_array([corruption]),
        names=[7],
    )
    return sample


def test_words():
    sample = handmade([1.0, 2.0, 2.0, 1.0])
    assert sample.text(unit="words") == (
        "arts (p = 0.83) explains 50 % of the sample, because of the words gallery, painting.\n"
        "<news> (p = 0.50) explains 40 % of the sample, because of the words vote.\n"
        "10 % of the sample is not explained by them."
    )
    assert "because of the features gallery.\n" in sample.text(max_names=1)
    assert str(sample) == sample.text()
    # A word that is not in the sample is no reason, and one that is missing neither.
    sample = handmade([1.0, 0.0, np.nan, 0.0])
    assert "because of the features painting." in sample.text()
    assert "1 entry is missing: vote, the labels say 0." in sample.text()
    low = handmade([1.0, 2.0, 0.0, 0.0], baseline=np.array([2.0, 0.0, 0.0, 0.0]))
    assert "because of the features high gallery, low painting." in low.text()
    assert "features negative vote." in handmade([0.0, 0.0, -1.0, 0.0]).text()
    wrong = handmade([1.0, 2.0, 2.0, 9.0], corruption=[0, 0, 0, 8.5])
    assert "1 entry looks corrupted: rain is 9, the labels say 0." in wrong.text()
    assert wrong.corrupted.tolist() == [3]
    assert "nothing of the sample is to be seen" in handmade([0.0, 0.0, 0.0, 0.0]).text()
    assert "no label" in fitted("rows")[0].explain(np.zeros((1, 12)), np.zeros((1, 4))).text(0)
    Q = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.8, 0.6]])
    terms = Terms(np.array(["a", "b", "c"]), np.arange(2), (Q[0][:1], Q[0][1:], Q[1]), None, np.ones(2))
    X, both = np.array([[1.0, -0.2]]), np.array([[True, False, True]])
    (sample,) = explain_samples(X, both, terms, probabilities=None, corruption=None, names=[0])
    assert sample.shares[1] < 0
    assert "c explains none of the sample: it takes away from the others (-" in sample.text()


def test_in_a_notebook():
    html = handmade([1.0, 2.0, 2.0, 9.0], corruption=[0, 0, 0, 8.5])._repr_html_()
    assert "&lt;news&gt;" in html
    assert "<news>" not in html
    assert "gallery, painting" in html
    assert "1 entry looks corrupted: rain" in html
    model, X = fitted("rows")
    explanation = model.explain(X[:8])
    assert "and 3 more samples" in explanation._repr_html_()
    assert re.fullmatch(r"<Explanation of 8 samples: \d+ labels, \d+ features>", repr(explanation))
    assert re.fullmatch(r"<SampleExplanation of 0: .*>", repr(explanation[0]))
    assert str(explanation).endswith("... and 3 more samples.")
    assert "more samples" not in str(explanation[:5])


def test_it_is_a_sequence():
    model, X = fitted("rows")
    explanation = model.explain(X[:8], feature_names=[f"word {j}" for j in range(12)], label_names=list("abcd"))
    assert explanation.shape == (8, 4, 12)
    assert isinstance(explanation[2:4], Explanation)
    assert [sample.name for sample in explanation[2:4]] == [2, 3]
    assert explanation[-1] is explanation.samples[7]
    np.testing.assert_array_equal(explanation.residual()[3], explanation[3].residual)
    assert explanation.text(3) == explanation[3].text()
    assert "word " in explanation.text(0)
    again = pickle.loads(pickle.dumps(explanation))
    np.testing.assert_array_equal(again.contributions(), explanation.contributions())
    with pytest.raises(ValueError, match="feature_names must have 12 names, got 1"):
        model.explain(X, feature_names=["a"])
    with pytest.raises(ValueError, match="labels must have one column for each of the 4 labels, got 3"):
        model.explain(X[:1], [[1, 0, 0]])


def test_what_is_explained_is_a_copy():
    model, X = fitted("rows")
    mine = X[:2].copy()
    explanation = model.explain(mine)
    before = explanation.residual()
    mine[:] = 0
    np.testing.assert_array_equal(explanation.residual(), before)


def test_the_best_of_averaged_settings_explains(digits):
    train = make_composite_digits(200, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifierCV(budget=3, random_state=0).fit(train.X, train.Y)
    for sample, x in zip(model.explain(digits[1].X), digits[1].X, strict=True):
        np.testing.assert_allclose(sample.contributions.sum(axis=0) + sample.residual + sample.baseline, x, rtol=1e-10)


def test_angles_are_scipys(subspaces):
    components = [*subspaces(4, 3, 9), *subspaces(2, 2, 9, seed=1), np.zeros((0, 9))]
    angles = label_angles(components)
    for i in range(6):
        for j in range(6):
            cosines = np.cos(subspace_angles(components[i].T, components[j].T))
            np.testing.assert_allclose(angles.cosines(i, j), np.sort(cosines)[::-1], atol=1e-10)
            assert angles.shared[i, j] == pytest.approx(np.sum(cosines**2) / len(components[i]))
            smaller = min(len(components[i]), len(components[j]))
            assert angles.overlap[i, j] == pytest.approx(np.sum(cosines**2) / smaller)
    assert not angles.shared[6].any()
    assert not angles.shared[:, 6].any()
    assert sorted(angles.order()) == list(range(7))


def test_labels_that_share_are_neighbours_in_the_tree(subspaces):
    a, b, c = subspaces(3, 2, 30)
    near = np.linalg.qr((a + 0.05 * b).T)[0].T
    angles = label_angles([a, b, c, near], label_names=list("abcd"))
    tree = angles.tree()
    assert set(tree[0, :2]) == {0, 3}
    order = angles.order().tolist()
    assert abs(order.index(0) - order.index(3)) == 1
    assert label_angles([a]).order().tolist() == [0]
    with pytest.raises(ValueError, match="at least two labels"):
        label_angles([a]).tree()


def test_angles_of_a_model_and_of_a_decomposition():
    model, _ = fitted("rows")
    data = make_label_subspaces(60, 10, 3, n_components=2, random_state=0)
    np.testing.assert_array_equal(label_angles(model).label_names, model.classes_)
    np.testing.assert_allclose(np.diag(label_angles(model).shared), 1)
    angles = label_angles(decompose(data.X, data.Y, n_components=2, random_state=0))
    assert angles.shared.shape == (3, 3)


def test_the_code_in_the_docs_runs(capsys):
    text = (Path(__file__).parents[2] / "docs" / "explanations.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    matplotlib.use("agg")
    names = {}
    exec(compile(code, "explanations.md", "exec"), names)
    np.testing.assert_allclose(names["total"], names["test"].X[1], rtol=1e-10, atol=1e-12)
    said = capsys.readouterr().out
    assert "because of the pixels" in said
    assert "entries look corrupted" in said
    assert set(names["table"]["sample"]) == set(range(100))
    assert names["angles"].shared.shape == (10, 10)
    for share, alone, label in zip(
        names["sample"].shares, names["sample"].unique_shares, names["sample"].label_names, strict=True
    ):
        assert f"the {label} explains {100 * share:.0f} %" in text or f"the {label} {100 * share:.0f} %" in text
        assert f"{100 * alone:.0f} %" in text
    matplotlib.pyplot.close("all")
