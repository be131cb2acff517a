"""Decisions with weights of labels and with corrected probabilities of label sets, in both formats."""

import runpy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

import sdgs
from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.deployment._model_description import describe_decision
from sdgs.readout._decision import Decision, best_expected_f1

DATA = make_label_subspaces(150, 8, 4, n_components=2, noise=0.3, random_state=0)
WEIGHT = np.asarray([0.1, 1.0, 3.0, 20.0])
SETS = np.asarray([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]], dtype=bool)
LOG_RATIOS = np.asarray([1.0, -0.5, 0.3, 0.2])


@dataclass(frozen=True, eq=False)
class ExtendedDecision(Decision):
    label_weight: Any = None
    label_sets: Any = None
    other: Any = None


@pytest.fixture(scope="module")
def model():
    return SDGSClassifier(2, alpha=0, gamma=None, random_state=0).fit(DATA.X, DATA.Y)


def exported_labels(model, folder):
    """The labels of the samples, by each format."""
    yield runpy.run_path(str(sdgs.export(model, folder / "model.py")))["predict"](DATA.X)
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    path = sdgs.export(model, folder / "model.onnx", format="onnx")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    yield session.run(["labels"], {"X": DATA.X})[0]


def weighted(P):
    odds = WEIGHT * P / (1 - P)
    return odds / (1 + odds)


@pytest.mark.parametrize("rule", ["expected f1", "threshold", "top"])
def test_weights_of_labels(model, rule, monkeypatch, tmp_path):
    P = weighted(model.predict_proba(DATA.X))
    decision, expected = {
        "expected f1": (ExtendedDecision(label_weight=WEIGHT), best_expected_f1(P, allow_empty=True)),
        "threshold": (ExtendedDecision(thresholds=np.full(4, 0.6), label_weight=WEIGHT), P >= 0.6),
        "top": (ExtendedDecision(top=1, label_weight=WEIGHT), P.max(axis=1, keepdims=True) == P),
    }[rule]
    monkeypatch.setattr(model, "_decision", decision)
    for labels in exported_labels(model, tmp_path):
        np.testing.assert_array_equal(labels, expected)


def test_weights_of_classes(tmp_path):
    model = SDGSClassifier(2, alpha=0, gamma=None, random_state=0)
    model.fit(DATA.X, np.asarray(["a", "b", "c", "d"])[DATA.Y.argmax(axis=1)])
    P = model.predict_proba(DATA.X)
    model._decision = ExtendedDecision(top=1, label_weight=WEIGHT[: P.shape[1]])
    odds = P / (1 - P) * WEIGHT[: P.shape[1]]
    for labels in exported_labels(model, tmp_path):
        np.testing.assert_array_equal(labels, model.classes_[odds.argmax(axis=1)])


def test_corrected_label_sets(model, monkeypatch, tmp_path):
    P = model.predict_proba(DATA.X)
    expected = []
    for p in P:
        own = p >= 0.5
        sets = [*zip(SETS, LOG_RATIOS, strict=False)]
        if not (own == SETS).all(axis=1).any():
            sets.append((own, LOG_RATIOS[-1]))
        expected.append(max(sets, key=lambda pair: logit(p)[pair[0]].sum() + pair[1])[0])
    assert not np.array_equal(P >= 0.5, expected)
    correction = SimpleNamespace(sets=SETS, log_ratios=LOG_RATIOS)
    monkeypatch.setattr(model, "_decision", ExtendedDecision("subset_accuracy", label_sets=correction))
    for labels in exported_labels(model, tmp_path):
        np.testing.assert_array_equal(labels, expected)


def test_decisions_that_the_export_does_not_know(model, monkeypatch):
    monkeypatch.setattr(model, "_decision", ExtendedDecision(other=1))
    with pytest.raises(ValueError, match="A decision with other cannot be exported"):
        describe_decision(model)
    monkeypatch.setattr(model, "_decision", ExtendedDecision("another_metric"))
    with pytest.raises(ValueError, match="metric='another_metric' without thresholds"):
        describe_decision(model)
