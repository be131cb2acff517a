"""Pictures: that they show what was computed, and that it can be read."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_fscore_support
from sklearn.multiclass import OneVsRestClassifier

from sdgs import SDGSClassifier, decompose, label_angles, metrics
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.displays import (
    AngleMapDisplay,
    ConvergenceDisplay,
    CooccurrenceDisplay,
    LabelMetricsDisplay,
    LabelSubspacesDisplay,
    SampleDecompositionDisplay,
    ThresholdCurveDisplay,
)


@pytest.fixture(autouse=True)
def closed():
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def digits():
    train = make_composite_digits(600, max_labels=2, spikes=0.03, subset="train", random_state=0)
    test = make_composite_digits(60, max_labels=2, spikes=0.03, subset="test", random_state=1)
    return SDGSClassifier(huber=0.05, random_state=0).fit(train.X, train.Y), test


@pytest.fixture(scope="module")
def measured():
    """Standardised features with names, and labels with names."""
    data = make_label_subspaces(200, 12, 4, n_components=2, noise=0.1, random_state=0)
    X = pd.DataFrame(data.X + 5, columns=[f"feature {j}" for j in range(12)])
    Y = pd.DataFrame(data.Y, columns=["red", "green", "blue", "yellow"])
    return SDGSClassifier(2, scaling="columns", random_state=0).fit(X, Y), X, Y


@pytest.fixture(scope="module")
def many():
    """374 labels with long names."""
    rng = np.random.default_rng(0)
    Y = (rng.random((500, 374)) < 0.03).astype(int)
    names = [f"a label with a rather long name, number {i}" for i in range(374)]
    components = [np.linalg.qr(rng.standard_normal((40, 2)))[0].T for _ in range(374)]
    return Y, np.clip(Y * 0.6 + rng.random(Y.shape) * 0.4, 0, 1), names, components


def texts(ax):
    return [text.get_text() for text in [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts] if text.get_text()]


def assert_readable(display):
    """No name is cut, and none lies on its neighbour."""
    figure, ax = display.figure_, display.ax_
    figure.canvas.draw()
    page = figure.bbox
    for axis, along in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        labels = [label for tick in ticks for label in (tick.label1, tick.label2) if label.get_visible()]
        boxes = [label.get_window_extent() for label in labels if label.get_text()]
        for box in boxes:
            assert box.x0 >= page.x0 - 1
            assert box.x1 <= page.x1 + 1
            assert box.y0 >= page.y0 - 1
            assert box.y1 <= page.y1 + 1
        low, high = f"{along}0", f"{along}1"
        boxes.sort(key=lambda box: getattr(box, low))
        for one, next_one in zip(boxes[:-1], boxes[1:], strict=True):
            assert getattr(one, high) <= getattr(next_one, low) + 1
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        if text.get_text():
            box = text.get_window_extent()
            assert box.x0 >= page.x0 - 1
            assert box.x1 <= page.x1 + 1
            assert box.y0 >= page.y0 - 1
            assert box.y1 <= page.y1 + 1


def test_bars_make_the_sample(measured):
    model, X, _ = measured
    display = model.explain(X).plot(3, max_features=8)
    ax = display.ax_
    explanation = model.explain(X)[3]
    z = (explanation.sample - explanation.baseline) / explanation.terms.unit
    names = [text.get_text() for text in ax.get_yticklabels()]
    columns = [list(X.columns).index(name) for name in names]
    assert len(names) == 8
    widths = np.array([[bar.get_width() for bar in container] for container in ax.containers])
    assert len(widths) == len(explanation.labels) + 1
    np.testing.assert_allclose(widths.sum(axis=0), z[columns], atol=1e-9)
    # Bars of one side follow each other without gaps or overlaps.
    for place in range(8):
        for side in (-1, 1):
            bars = [container[place] for container in ax.containers if np.sign(container[place].get_width()) == side]
            ends = np.cumsum([bar.get_width() for bar in bars])
            np.testing.assert_allclose([bar.get_x() + bar.get_width() for bar in bars], ends, atol=1e-9)
    (line,) = [line for line in ax.lines if line.get_label() == "the sample"]
    np.testing.assert_allclose(line.get_xdata(), z[columns])
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    for i, name in enumerate(explanation.label_names):
        wanted = f"{name}, p = {explanation.probabilities[i]:.2f}, {100 * explanation.shares[i]:.0f} %"
        assert wanted in legend
    assert ax.get_xlabel() == "standard deviations from the mean (8 of 12 features)"
    assert_readable(display)


def test_images_make_the_sample(digits):
    model, test = digits
    X = test.X[:4].copy()
    X[1, 5] = np.nan
    display = SampleDecompositionDisplay.from_estimator(model, X, sample=1, shape=(8, 8))
    images = [inset.images[0].get_array() for inset in display.ax_.child_axes]
    explanation = model.explain(X[1:2])[0]
    assert len(images) == len(explanation.labels) + 2
    np.testing.assert_allclose(np.sum(images[1:], axis=0).ravel(), explanation.filled, atol=1e-9)
    assert images[0].mask.ravel().tolist() == np.isnan(X[1]).tolist()
    marked = display.ax_.child_axes[-1].collections[0].get_offsets()
    assert {(int(y), int(x)) for x, y in marked} == {divmod(int(j), 8) for j in explanation.corrupted}
    assert "✗ looks corrupted; yellow: missing" in texts(display.ax_)
    with pytest.raises(ValueError, match=r"shape must be the height and width of an image of 64 pixels, got \(8, 9\)"):
        display.plot(shape=(8, 9))
    again = SampleDecompositionDisplay.from_estimator(model, test.X, sample=-1, labels=test.Y, shape=(8, 8))
    assert len(again.ax_.child_axes) == test.Y[-1].sum() + 2


def test_standardised_images_have_a_baseline():
    train = make_composite_digits(200, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifier(scaling="columns", random_state=0).fit(train.X, train.Y)
    explanation = model.explain(train.X[:1])
    display = explanation.plot(shape=(8, 8))
    titles = [inset.get_title() for inset in display.ax_.child_axes]
    assert titles[1].startswith("baseline")
    images = [inset.images[0].get_array() for inset in display.ax_.child_axes]
    np.testing.assert_allclose(np.sum(images[1:], axis=0).ravel(), train.X[0], atol=1e-9)


def test_more_labels_than_can_be_told_apart():
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((20, 6))
    sample = parts.sum(axis=0) + 1
    sample[2] = np.nan
    display = SampleDecompositionDisplay.from_predictions(sample, parts, max_features=6)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "14 others" in legend
    widths = np.array([[bar.get_width() for bar in container] for container in display.ax_.containers])
    total = dict(zip((text.get_text() for text in display.ax_.get_yticklabels()), widths.sum(axis=0), strict=True))
    for j in (0, 1, 3, 4, 5):
        assert total[f"x{j}"] == pytest.approx(sample[j])
    assert total["x2"] == pytest.approx(parts[:, 2].sum())
    assert "in italics: missing" in display.ax_.get_xlabel()
    nothing = SampleDecompositionDisplay.from_predictions(sample, parts[:0])
    assert len(nothing.ax_.containers) == 1


def test_subspaces_as_images_and_as_words(digits, measured, many):
    model, _ = digits
    display = LabelSubspacesDisplay.from_estimator(model, shape=(8, 8))
    images = [inset.images[0].get_array().ravel() for inset in display.ax_.child_axes]
    assert len(images) == sum(map(len, model.components_))
    np.testing.assert_allclose(np.abs(images), np.abs(np.vstack(model.components_)))
    for i, U in enumerate(model.decomposition_.coefficients):  # the way that training samples go
        means = U.mean(axis=0) * (np.array(images[4 * i : 4 * i + 4]) * model.components_[i]).sum(axis=1)
        assert (means >= 0).all()
    assert_readable(display)
    words, _, _ = measured
    display = LabelSubspacesDisplay.from_estimator(words, max_features=3)
    inside = np.square(words.components_[1]).sum(axis=0)
    best = [f"feature {j}" for j in np.argsort(-inside)[:3]]
    assert [text.get_text() for text in display.ax_.texts[3:6]] == best
    np.testing.assert_allclose(display.ax_.images[0].get_array()[1], np.sort(inside)[::-1][:3])
    assert_readable(display)
    _, _, names, components = many
    support = np.arange(374)
    display = LabelSubspacesDisplay(components=components, label_names=names, support=support).plot(max_labels=5)
    assert [text.get_text()[-3:] for text in display.ax_.get_yticklabels()] == ["369", "370", "371", "372", "373"]
    assert_readable(display)
    chosen = display.plot(labels=[3])
    assert len(chosen.ax_.get_yticklabels()) == 1
    with pytest.raises(ValueError, match="shape must be the height and width of an image of 40 pixels"):
        display.plot(shape=(8, 8))


def test_angles_as_a_map_and_as_a_tree(measured, many):
    model, _, _ = measured
    angles, display = label_angles(model), AngleMapDisplay.from_estimator(model)
    order = angles.order()
    shown = display.ax_.images[0].get_array()
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(shown[off], angles.shared[np.ix_(order, order)][off])
    assert shown.mask[~off].all()
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [str(model.classes_[i]) for i in order]
    assert f"{100 * angles.shared[order[0], order[1]]:.0f} %" in texts(display.ax_)
    assert_readable(display)
    tree = AngleMapDisplay.from_estimator(model, kind="tree")
    assert {text.get_text() for text in tree.ax_.get_yticklabels()} == {"red", "green", "blue", "yellow"}
    assert_readable(tree)
    _, _, names, components = many
    display = AngleMapDisplay.from_estimator(components, label_names=names)
    assert display.ax_.images[0].get_array().shape == (374, 374)
    assert len(display.ax_.get_yticklabels()) <= 40
    assert not display.ax_.texts
    assert_readable(display)
    tree = display.plot(kind="tree", max_names=20)
    leaves = [text.get_text() for text in tree.ax_.get_yticklabels()]
    assert len(leaves) == 20
    assert sum(int(leaf.rpartition("+")[2]) + 1 if " +" in leaf else 1 for leaf in leaves) == 374
    assert_readable(tree)
    assert AngleMapDisplay.from_estimator(components[:1]).ax_.images
    with pytest.raises(ValueError, match="kind must be one of 'map', 'tree'"):
        display.plot(kind="pie")


def test_convergence(measured):
    model, X, Y = measured
    line = ConvergenceDisplay.from_estimator(model).ax_.lines[0]
    np.testing.assert_array_equal(line.get_ydata(), model.decomposition_.objective)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, model.n_iter_ + 1))
    result = decompose(X, Y, n_components=2, tol=1e-2, random_state=0)
    display = ConvergenceDisplay.from_estimator(result)
    assert f"converged after {result.n_iter} sweeps" in texts(display.ax_)
    assert ConvergenceDisplay(objective=np.array([1.0, 0.0])).plot().ax_.get_yscale() == "linear"


def test_measures_of_each_label_are_scikit_learns(measured, many):
    model, X, Y = measured
    display = LabelMetricsDisplay.from_estimator(model, X, Y)
    expected = precision_recall_fscore_support(Y, model.predict(X))
    for found, wanted in zip((display.precision, display.recall, display.f1, display.support), expected, strict=True):
        np.testing.assert_allclose(found, wanted)
    order = np.argsort(-display.support, kind="stable")
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [Y.columns[i] for i in order]
    f1 = display.ax_.collections[-1].get_offsets()
    np.testing.assert_allclose(f1[:, 0], display.f1[order])
    assert_readable(display)
    truth, P, names, _ = many
    display = LabelMetricsDisplay.from_predictions(csr_array(truth), P > 0.5, label_names=names, sort_by="f1")
    assert len(display.ax_.get_yticklabels()) == 30
    assert "30 of 374 labels" in display.ax_.get_xlabel()
    assert_readable(display)


def test_measures_that_are_not_defined_are_not_drawn():
    display = LabelMetricsDisplay.from_predictions([[1, 0, 0], [1, 0, 0]], [[0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(display.precision, [np.nan, np.nan, 0])
    np.testing.assert_array_equal(display.recall, [0, np.nan, np.nan])
    np.testing.assert_array_equal(display.f1, [0, np.nan, 0])
    with pytest.raises(ValueError, match=r"same shape, got \(2, 3\) and \(2, 2\)"):
        LabelMetricsDisplay.from_predictions([[1, 0, 0], [1, 0, 0]], [[0, 0], [1, 0]])
    with pytest.raises(ValueError, match="sort_by must be one of"):
        display.plot(sort_by="colour")


def test_one_class_a_sample():
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


def test_the_curve_of_a_threshold(measured, many):
    model, X, Y = measured
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
        ThresholdCurveDisplay.from_predictions(many[0], many[1][:, :3])


def test_labels_that_come_together(measured, many):
    _, _, Y = measured
    display = CooccurrenceDisplay.from_predictions(Y)
    np.testing.assert_array_equal(display.counts, Y.to_numpy().T @ Y.to_numpy())
    names = [text.get_text().split(" ")[0] for text in display.ax_.get_yticklabels()]
    assert set(names) == set(Y.columns)
    first, second = Y[names[0]], Y[names[1]]
    assert display.ax_.images[0].get_array()[0, 1] == pytest.approx((first & second).sum() / first.sum())
    assert_readable(display)
    truth, _, label_names, _ = many
    display = CooccurrenceDisplay.from_predictions(csr_array(truth), label_names=label_names)
    assert display.ax_.get_title() == "the 40 most frequent of 374 labels"
    assert_readable(display)
    assert CooccurrenceDisplay.from_predictions([[1], [0]]).counts.tolist() == [[1]]


def test_other_classifiers_can_be_shown(digits):
    _, test = digits
    rival = OneVsRestClassifier(LogisticRegression(max_iter=2000)).fit(test.X, test.Y)
    display = LabelMetricsDisplay.from_estimator(rival, test.X, test.Y)
    assert display.f1.shape == (10,)
    assert ThresholdCurveDisplay.from_estimator(rival, test.X, test.Y, n_thresholds=3).values["f1"].shape == (3,)
    assert CooccurrenceDisplay.from_estimator(rival, test.X).counts.shape == (10, 10)


def test_axes_that_are_given_are_used(measured):
    model, X, Y = measured
    figure, axes = matplotlib.pyplot.subplots(2, 4, layout="constrained")
    displays = [
        SampleDecompositionDisplay.from_estimator(model, X, sample=2, ax=axes.flat[0]),
        LabelSubspacesDisplay.from_estimator(model, ax=axes.flat[1]),
        AngleMapDisplay.from_estimator(model, ax=axes.flat[2]),
        AngleMapDisplay.from_estimator(model, kind="tree", ax=axes.flat[3]),
        ConvergenceDisplay.from_estimator(model, ax=axes.flat[4], color="black"),
        LabelMetricsDisplay.from_estimator(model, X, Y, ax=axes.flat[5]),
        ThresholdCurveDisplay.from_estimator(model, X, Y, n_thresholds=5, ax=axes.flat[6]),
        CooccurrenceDisplay.from_estimator(model, X, ax=axes.flat[7]),
    ]
    for display, ax in zip(displays, axes.flat, strict=True):
        assert display.ax_ is ax
        assert display.figure_ is figure
    assert displays[4].ax_.lines[0].get_color() == "black"
    assert len(matplotlib.pyplot.get_fignums()) == 1


def test_matplotlib_is_needed_only_to_draw(measured, monkeypatch):
    code = "import sys, sdgs.displays; print('matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
    model, X, _ = measured
    explanation = model.explain(X[:1])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (explanation.plot, lambda: ConvergenceDisplay.from_estimator(model)):
        with pytest.raises(ImportError, match=r"Displays need matplotlib to draw: pip install 'sdgs\[plot\]'"):
            draw()
