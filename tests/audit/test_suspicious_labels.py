"""Suspicious labels and differing duplicates as text, DataFrame and HTML."""

import sys

import numpy as np
import pytest

from sdgs.audit import find_differing_duplicates, rank_suspicious_labels

Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
P = np.array([[0.9, 0.2], [0.1, 0.9], [0.2, 0.8], [0.1, 0.9]])
LABELS = ["calm", "<b>sad\x1b"]


def test_text_and_representations():
    ranked = rank_suspicious_labels(Y, P, n_pairs=None, label_names=LABELS)
    assert repr(ranked) == "<SuspiciousLabels: 8 pairs of 4 samples>"
    lines = ranked.text(max_pairs=2).split("\n")
    assert lines[0] == (
        "4 labels of 4 samples were checked. At most about 1 of them is wrong. 1 other label is not given but "
        "probable (p >= 0.8)."
    )
    assert lines[1:] == [
        "sample 1: calm is given, p = 0.10",
        "sample 1: <b>sad\x1b is not given, p = 0.90",
        "... and 6 more.",
    ]
    assert len(ranked.text().split("\n")) == 9
    html = ranked._repr_html_()
    assert "&lt;b&gt;sad\\x1b</td><td>not given" in html
    assert "<b>" not in html


def test_a_class_that_is_given_is_not_suggested_instead():
    ranked = rank_suspicious_labels(Y, P, n_pairs=None, one_label=True, label_names=["calm", "sad"])
    assert ranked.text().split("\n")[1:3] == [
        "sample 1: calm is given, p = 0.10; sad is more probable",
        "sample 2: sad is given, p = 0.80",
    ]
    assert rank_suspicious_labels(Y[:1], P[:1]).summary().startswith("1 label of 1 sample was checked.")


def test_frames():
    frame = rank_suspicious_labels(Y, P, n_pairs=1, label_names=LABELS).to_frame()
    assert frame.to_dict("list") == {
        "sample": [1],
        "label": ["calm"],
        "given": [True],
        "probability": [0.1],
        "score": [0.9],
    }
    one = rank_suspicious_labels(Y, P, n_pairs=1, label_names=LABELS, one_label=True)
    assert list(one.to_frame()["suggested"]) == ["<b>sad\x1b"]
    assert "calm is given, p = 0.10; <b>sad\x1b is more probable" in str(one)
    assert "probable (p" not in one.summary()
    assert "<td>&lt;b&gt;sad" in one._repr_html_()


def test_differing_duplicates():
    pairs = find_differing_duplicates([[1.0, 2.0], [3.0, 1.0], [1.0, 2.0], [0.0, 5.0]], Y, label_names=LABELS)
    assert repr(pairs) == "<DifferingDuplicates: 1 pair of 4 samples>"
    assert str(pairs).split("\n")[1] == "samples 0 and 2 are identical: only 0 has calm; only 2 has <b>sad\x1b"
    assert pairs.to_frame().to_dict("list") == {
        "first": [0],
        "second": [2],
        "distance": [0.0],
        "only_first": [["calm"]],
        "only_second": [["<b>sad\x1b"]],
    }
    assert "&lt;b&gt;sad\\x1b" in pairs._repr_html_()
    assert pairs.shared(0) == []
    assert "... and 1 more." in pairs.text(max_pairs=0)


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        rank_suspicious_labels(Y, P).to_frame()
