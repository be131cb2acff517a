"""Explanations as sentences, DataFrames and HTML: they say what the arrays hold."""

import re
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.explanation import Terms, explain_samples


@cache
def fitted(scaling="rows", readout="ridge"):
    """A model and its training samples."""
    data = make_label_subspaces(150, 12, 4, n_components=2, noise=0.05, random_state=0)
    X = data.X + (3.0 if scaling == "columns" else 0.0)
    return SDGSClassifier(2, scaling=scaling, readout=readout, cv=2, random_state=0).fit(X, data.Y), X


def test_contributions_of_the_frame_sum_to_the_sample():
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
    norm, X = fitted(readout="norm")
    assert norm.explain(X[:3], np.ones((3, 4))).to_frame(by="label").probability.isna().all()
    assert len(norm.explain(X[:3])[:0].to_frame()) == 0
    with pytest.raises(ValueError, match="by must be one of 'feature', 'label'"):
        explanation.to_frame(by="day")


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    model, X = fitted()
    explanation = model.explain(X[:1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        explanation.to_frame()


def explain(x, unit=None, baseline=None, corruption=None):
    """The explanation of a sample with four words by two labels with known subspaces."""
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


def test_sentences():
    sample = explain([1.0, 2.0, 2.0, 1.0])
    assert sample.text(unit="words") == (
        "arts (p = 0.83) explains 50 % of the sample, mainly in the words gallery, painting.\n"
        "<news> (p = 0.50) explains 40 % of the sample, mainly in the words vote.\n"
        "10 % of the sample is not explained."
    )
    assert "mainly in the features gallery.\n" in sample.text(max_names=1)
    assert str(sample) == sample.text()
    # Words that are zero or missing in the sample are not named.
    sample = explain([1.0, 0.0, np.nan, 0.0])
    assert "mainly in the features painting." in sample.text()
    assert "1 entry is missing: vote, expected 0." in sample.text()
    low = explain([1.0, 2.0, 0.0, 0.0], baseline=np.array([2.0, 0.0, 0.0, 0.0]))
    assert "mainly in the features high gallery, low painting." in low.text()
    assert "features negative vote." in explain([0.0, 0.0, -1.0, 0.0]).text()
    wrong = explain([1.0, 2.0, 2.0, 9.0], corruption=[0, 0, 0, 8.5])
    assert "1 entry looks corrupted: rain is 9, expected 0." in wrong.text()
    assert wrong.corrupted.tolist() == [3]
    assert "No observed entry of the sample differs from the baseline" in explain([0.0, 0.0, 0.0, 0.0]).text()
    assert "no label" in fitted()[0].explain(np.zeros((1, 12)), np.zeros((1, 4))).text(0)
    Q = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.8, 0.6]])
    terms = Terms(np.array(["a", "b", "c"]), np.arange(2), (Q[0][:1], Q[0][1:], Q[1]), None, np.ones(2))
    X, both = np.array([[1.0, -0.2]]), np.array([[True, False, True]])
    (sample,) = explain_samples(X, both, terms, probabilities=None, corruption=None, names=[0])
    assert sample.shares[1] < 0
    assert "c " not in sample.text()  # it only cancels a part of a
    weak = explain([1.0, 10.0, 2.0, 0.0])
    assert "mainly in the features gallery.\n" in weak.text()  # painting has less than a tenth of its evidence


def test_html_of_a_notebook():
    html = explain([1.0, 2.0, 2.0, 9.0], corruption=[0, 0, 0, 8.5])._repr_html_()
    assert "&lt;news&gt;" in html
    assert "<news>" not in html
    assert "gallery, painting" in html
    assert "1 entry looks corrupted: rain" in html
    model, X = fitted()
    explanation = model.explain(X[:8])
    assert "and 3 more samples" in explanation._repr_html_()
    assert re.fullmatch(r"<Explanation of 8 samples: \d+ labels, \d+ features>", repr(explanation))
    assert re.fullmatch(r"<SampleExplanation of 0: .*>", repr(explanation[0]))
    assert str(explanation).endswith("... and 3 more samples.")
    assert "more samples" not in str(explanation[:5])
