"""The display of a decomposed sample: bars and images sum to the sample."""

import numpy as np
import pytest

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.displays import SampleDecompositionDisplay


def test_bars_sum_to_the_sample(standardized, assert_readable):
    model, X, _ = standardized
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


def test_images_sum_to_the_sample(digits, texts):
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


def test_more_labels_than_colours():
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
