"""Displays of training and of metrics show what was computed and can be read."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_fscore_support
from sklearn.multiclass import OneVsRestClassifier

from sdgs import SDGSClassifier, decompose, metrics
from sdgs.datasets import make_label_subspaces
from sdgs.displays import ConvergenceDisplay, CooccurrenceDisplay, LabelMetricsDisplay, ThresholdCurveDisplay


def test_convergence(standardized, texts):
    model, X, Y = standardized
    line = ConvergenceDisplay.from_estimator(model).ax_.lines[0]
    np.testing.assert_array_equal(line.get_ydata(), model.decomposition_.objective)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, model.n_iter_ + 1))
    result = decompose(X, Y, n_components=2, tol=1e-2, random_state=0)
    display = ConvergenceDisplay.from_estimator(result)
    assert f"converged after {result.n_iter} sweeps" in texts(display.ax_)
    assert ConvergenceDisplay(objective=np.array([1.0, 0.0])).plot().ax_.get_yscale() == "linear"


def test_metrics_per_label_are_those_of_scikit_learn(standardized, many_labels, assert_readable):
    model, X, Y = standardized
    display = LabelMetricsDisplay.from_estimator(model, X, Y)
    expected = precision_recall_fscore_support(Y, model.predict(X))
    for actual, wanted in zip((display.precision, display.recall, display.f1, display.support), expected, strict=True):
        np.testing.assert_allclose(actual, wanted)
    order = np.argsort(-display.support, kind="stable")
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [Y.columns[i] for i in order]
    f1 = display.ax_.collections[-1].get_offsets()
    np.testing.assert_allclose(f1[:, 0], display.f1[order])
    assert_readable(display)
    truth, P, names, _ = many_labels
    display = LabelMetricsDisplay.from_predictions(csr_array(truth), P > 0.5, label_names=names, sort_by="f1")
    assert len(display.ax_.get_yticklabels()) == 30
    assert "30 of 374 labels" in display.ax_.get_xlabel()
    assert_readable(display)


def test_undefined_metrics_are_not_drawn():
    display = LabelMetricsDisplay.from_predictions([[1, 0, 0], [1, 0, 0]], [[0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(display.precision, [np.nan, np.nan, 0])
    np.testing.assert_array_equal(display.recall, [0, np.nan, np.nan])
    np.testing.assert_array_equal(display.f1, [0, np.nan, 0])
    with pytest.raises(ValueError, match=r"same shape, got \(2, 3\) and \(2, 2\)"):
        LabelMetricsDisplay.from_predictions([[1, 0, 0], [1, 0, 0]], [[0, 0], [1, 0]])
    with pytest.raises(ValueError, match="sort_by must be one of"):
        display.plot(sort_by="colour")


def test_one_class_per_sample(texts):
    data = make_label_subspaces(150, 10, 4, n_components=2, random_state=0)
    y = np.array(["ash", "birch", "cedar", "dogwood"])[data.Y.argmax(axis=1)]
    model = SDGSClassifier(2, random_state=0).fit(data.X, y)
    display = LabelMetricsDisplay.from_estimator(model, data.X, y)
    expected = precision_recall_fscore_support(y, model.predict(data.X), zero_division=np.nan)
    np.testing.assert_allclose(display.f1, expected[2])
    assert set(texts(display.ax_)) >= {"ash", "birch", "cedar"}
    np.testing.assert_allclose(LabelMetricsDisplay.from_predictions(y, model.predict(data.X)).recall, expected[1])
    curve = ThresholdCurveDisplay.from_estimator(model, data.X, y, n_thresholds=3)
    chosen = model.predict_proba(data.X) >= 0.5
    assert curve.values["f1"][1] == metrics.f1(y[:, None] == model.classes_, chosen)


def test_threshold_curves(standardized, many_labels, texts):
    model, X, Y = standardized
    display = ThresholdCurveDisplay.from_estimator(model, X, Y, n_thresholds=11)
    P = model.predict_proba(X)
    for threshold, place in ((0.0, 0), (0.3, 3), (1.0, 10)):
        for name, value in metrics.evaluate(Y, threshold <= P).items():
            assert display.values[name][place] == value
    lines = {line.get_label(): line for line in display.ax_.lines}
    np.testing.assert_array_equal(lines["F1"].get_ydata(), display.values["f1"])
    assert len({line.get_linestyle() + str(line.get_marker()) for line in display.ax_.lines[:5]}) == 5
    best = display.values["f1"].max()
    assert any(f"best F1 {best:.3f}" in text for text in texts(display.ax_))
    with pytest.raises(ValueError, match=r"y_proba must have the shape of y_true, \(500, 374\)"):
        ThresholdCurveDisplay.from_predictions(many_labels[0], many_labels[1][:, :3])


def test_other_classifiers_can_be_displayed(digits):
    _, test = digits
    classifier = OneVsRestClassifier(LogisticRegression(max_iter=2000)).fit(test.X, test.Y)
    display = LabelMetricsDisplay.from_estimator(classifier, test.X, test.Y)
    assert display.f1.shape == (10,)
    assert ThresholdCurveDisplay.from_estimator(classifier, test.X, test.Y, n_thresholds=3).values["f1"].shape == (3,)
    assert CooccurrenceDisplay.from_estimator(classifier, test.X).counts.shape == (10, 10)
