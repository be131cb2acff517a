"""The display of the reasons of a prediction: whatever is drawn sums to the log-odds of the model."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgs import SDGSClassifier, load
from sdgs.datasets import make_composite_digits
from sdgs.displays import PredictionReasonsDisplay


@pytest.fixture(scope="module")
def with_kernel():
    data = make_composite_digits(400, max_labels=2, subset="train", random_state=0)
    return SDGSClassifier(gamma=1.0, random_state=0).fit(data.X, data.Y), data.X[:20]


def waterfall(display):
    """Base, steps (start and length) and log-odds as they are drawn."""
    diamonds = display.ax_.lines[0].get_xdata()
    bars = sorted((bar for container in display.ax_.containers for bar in container), key=lambda bar: bar.get_y())
    return diamonds[0], [(bar.get_x(), bar.get_width()) for bar in bars], diamonds[-1]


def names_of(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


@pytest.mark.parametrize("by", ["feature", "component"])
@pytest.mark.parametrize("max_neighbours", [0, 3])
def test_a_waterfall_leads_from_the_base_to_the_log_odds(with_kernel, by, max_neighbours, assert_readable):
    model, X = with_kernel
    log_odds = model.decision_function(X)
    explanation = model.explain_prediction(X[:5], "all")
    for i in (0, 3):
        display = explanation[2].plot(i, by=by, max_reasons=4, max_neighbours=max_neighbours)
        base, steps, end = waterfall(display)
        assert base == pytest.approx(explanation.base[i])
        assert end == pytest.approx(log_odds[2, i], rel=1e-9)
        assert display.log_odds == pytest.approx(end)
        ends = base + np.cumsum([length for _, length in steps])
        np.testing.assert_allclose([start for start, _ in steps], [base, *ends[:-1]], atol=1e-9)
        assert ends[-1] == pytest.approx(end)
        assert names_of(display)[0] == "base"
        assert names_of(display)[-1] == "log-odds"
        assert len(names_of(display)) == len(steps) + 2
        assert_readable(display)


def test_a_waterfall_names_the_strongest_reasons(words):
    model, X = words
    row = int(np.flatnonzero(X["word 0"] * X["word 1"])[0])
    sample = model.explain_prediction(X[row : row + 1], [1])[0]
    total = (sample.features + sample.features_through_components)[0]
    display = sample.plot(max_reasons=2)
    order = np.argsort(-np.abs(total))
    assert order[0] == 1
    big = [j for j in order[:2] if abs(total[j]) >= 0.1 * abs(total[1])]
    others = int(np.count_nonzero(total)) - len(big)
    assert names_of(display) == ["base", *(f"word {j}" for j in big), f"{others} other features", "log-odds"]
    _, steps, _ = waterfall(display)
    np.testing.assert_allclose([length for _, length in steps[:-1]], total[big])
    texts = [text.get_text() for text in display.ax_.texts]
    assert f"{total[1]:+.2f}".replace("-", "\N{MINUS SIGN}") in texts
    assert display.ax_.get_title("right").startswith("1 is ")
    # What is weaker than a tenth of the strongest reason is not named, however many names are allowed.
    named = names_of(display.plot(max_reasons=40))[1:-2]
    assert len(named) == np.count_nonzero(np.abs(total) >= 0.1 * np.abs(total).max())


def test_the_upper_axis_has_the_probabilities_of_the_log_odds_below(words):
    model, X = words
    display = PredictionReasonsDisplay.from_estimator(model, X, sample=7)
    (upper,) = display.ax_.child_axes
    display.figure_.canvas.draw()
    marks = [float(label.get_text()) for label in upper.get_xticklabels()]
    assert len(marks) >= 3
    np.testing.assert_allclose(expit(upper.get_xticks()), marks)
    probabilities = model.predict_proba(X[7:8])[0]
    assert display.label_name == model.classes_[probabilities.argmax()]
    assert display.probability == pytest.approx(probabilities.max())
    assert expit(display.log_odds) == pytest.approx(display.probability)


def test_a_sample_without_explained_labels_cannot_be_drawn(words):
    model, X = words
    with pytest.raises(ValueError, match="No label of this sample is explained"):
        model.explain_prediction(X[:1], [])[0].plot()


def test_a_line_marks_the_threshold_if_any_label_is_predicted(words):
    model, X = words
    predicted = np.asarray(model.predict(X[:20])).any(axis=1)
    assert {True, False} <= set(predicted)
    for row in (int(np.argmax(predicted)), int(np.argmin(predicted))):
        display = PredictionReasonsDisplay.from_estimator(model, X, sample=row)
        thresholds = [line.get_xdata()[0] for line in display.ax_.lines if line.get_linestyle() == "--"]
        decision = model.explain_prediction(X[row : row + 1], [display.label_name])[0].decision(0)
        assert thresholds == pytest.approx([logit(decision.threshold)] if predicted[row] else [])


def test_classes_have_no_axis_of_probabilities():
    data = make_composite_digits(200, max_labels=1, subset="train", random_state=0)
    model = SDGSClassifier(gamma=None, random_state=0).fit(data.X, data.Y.argmax(axis=1))
    display = PredictionReasonsDisplay.from_estimator(model, data.X, label=3)
    assert not display.ax_.child_axes
    assert display.log_odds == pytest.approx(model.decision_function(data.X[:1])[0, 3], rel=1e-6)


@pytest.mark.parametrize("by", ["feature", "component"])
def test_bars_are_split_by_kind_and_sum_to_the_log_odds(with_kernel, by, assert_readable):
    model, X = with_kernel
    display = PredictionReasonsDisplay.from_estimator(model, X, sample=3, kind="bar", by=by, max_neighbours=2)
    (explanation,) = model.explain_prediction(X[3:4], [display.label_name])
    parts = explanation.parts()
    sums = [container.get_label() for container in display.ax_.containers]
    widths = {
        container.get_label(): np.array([bar.get_width() for bar in container]) for container in display.ax_.containers
    }
    assert sums == ["features, directly", "features, through components of labels", "similar training samples"]
    for kind, part in zip(sums, (parts.features, parts.components, parts.neighbours), strict=True):
        assert widths[kind].sum() == pytest.approx(part.sum(), rel=1e-9)
    total = sum(width.sum() for width in widths.values())
    assert display.base + total == pytest.approx(float(explanation.log_odds[0]))
    (mark,) = [line for line in display.ax_.lines if line.get_label() == "together"] or [None]
    if by == "feature":
        np.testing.assert_allclose(mark.get_xdata(), sum(widths.values()))
    else:
        assert mark is None
    title = display.ax_.get_legend().get_title().get_text().replace("\N{MINUS SIGN}", "-")
    assert f"log-odds {display.log_odds:.2f} = {display.base:.2f} base" in title
    hatches = {container[0].get_hatch() for container in display.ax_.containers}
    assert len(hatches) == 3
    assert_readable(display)


def test_training_samples_are_named_by_row_and_labels(with_kernel):
    model, X = with_kernel
    sample = model.explain_prediction(X[:1], "all")[0]
    names = names_of(sample.plot(2, max_neighbours=1))
    (strongest,) = sample.top_neighbours(2, 1)
    labels = ", ".join(map(str, strongest.labels)) or "no label"
    assert f"training sample {strongest.sample} ({labels})" in names
    assert names[-2] == f"{sample.terms.training_samples.size - 1} other training samples"
    assert "similar training samples" in names_of(sample.plot(2))


def test_an_image_shows_what_each_pixel_adds(digits):
    model, test = digits
    sample = model.explain_prediction(test.X[4:5], "all")[0]
    display = sample.plot(5, shape=(8, 8))
    shown, parts = (inset.images[0] for inset in display.ax_.child_axes[:2])
    np.testing.assert_array_equal(shown.get_array().ravel(), test.X[4])
    total = (sample.features + sample.features_through_components)[5]
    np.testing.assert_allclose(parts.get_array().ravel(), total)
    rest = display.base + display.neighbours.sum()
    assert parts.get_array().sum() + rest == pytest.approx(sample.log_odds[5])
    assert parts.norm.vmin == -parts.norm.vmax
    with pytest.raises(ValueError, match=r"shape must be the height and width of an image of 64 pixels, got \(8, 9\)"):
        display.plot(shape=(8, 9))


def test_standardised_features_are_high_or_low(standardized):
    model, X, _ = standardized
    display = PredictionReasonsDisplay.from_estimator(model, X, label="blue", sample=-1)
    means = X.mean()
    named = [name for name in names_of(display) if "feature " in name]
    assert len(named) > 3
    for name in named:
        side, _, feature = name.partition(" ")
        assert side == ("low" if X[feature].iloc[-1] < means[feature] else "high")
    assert "blue" in display.ax_.get_title("right")


def test_a_pipeline_is_drawn_as_its_last_step(standardized):
    _, X, Y = standardized
    pipeline = make_pipeline(StandardScaler(), SDGSClassifier(2, random_state=0)).fit(X, Y)
    display = PredictionReasonsDisplay.from_estimator(pipeline, X, sample=2, label="red")
    assert display.log_odds == pytest.approx(pipeline.decision_function(X)[2, 0])
    assert any("feature " in name for name in names_of(display))


def test_a_loaded_model_draws_the_names_stored_with_it(words, tmp_path):
    model, X = words
    tokens, labels = [f"token {j}" for j in range(40)], ["one", "two", "three", "four"]
    model.save(tmp_path / "model.sdgs", feature_names=tokens, label_names=labels)
    display = PredictionReasonsDisplay.from_estimator(load(tmp_path / "model.sdgs"), X, label="two")
    assert display.ax_.get_title("right").startswith("two is ")
    expected = PredictionReasonsDisplay.from_estimator(model, X, label=1)
    assert names_of(display) == [name.replace("word", "token") for name in names_of(expected)]
    assert any(name.startswith("token ") for name in names_of(display))


def test_sparse_samples_and_a_sample_without_features(words):
    model, X = words
    X, Y = csr_array(X.to_numpy()), model.predict(X)
    model = SDGSClassifier(random_state=0).fit(X, Y)
    display = PredictionReasonsDisplay.from_estimator(model, X, sample=5)
    assert display.log_odds == pytest.approx(model.decision_function(X)[5].max())
    empty = csr_array((1, 40))
    for kind in ("waterfall", "bar"):
        display = PredictionReasonsDisplay.from_estimator(model, empty, kind=kind)
        assert display.log_odds == pytest.approx(model.decision_function(empty).max())


def test_arrays_can_be_drawn_without_a_model():
    display = PredictionReasonsDisplay(base=-1.0, features=np.array([2.0, -0.5, 0.01]))
    assert display.log_odds == pytest.approx(0.51)
    base, steps, end = waterfall(display.plot())
    assert (base, len(steps)) == (-1.0, 3)
    assert end == pytest.approx(0.51)
    assert names_of(display) == ["base", "x0", "x1", "1 other feature", "log-odds"]


@pytest.mark.parametrize(
    ("option", "value"), [("kind", "pie"), ("by", "label"), ("max_reasons", 0), ("max_neighbours", -1)]
)
def test_wrong_options_are_named(option, value):
    display = PredictionReasonsDisplay(base=0.0, features=np.ones(2))
    with pytest.raises(ValueError, match=f"{option} must be"):
        display.plot(**{option: value})


def test_it_can_be_read_in_a_narrow_dark_figure(with_kernel):
    model, X = with_kernel
    names = [f"a feature with a rather long name, number {j}" for j in range(64)]
    with plt.style.context("dark_background"):
        for kind in ("waterfall", "bar"):
            ax = plt.subplots(figsize=(4, 4), layout="constrained")[1]
            display = PredictionReasonsDisplay.from_estimator(model, X, kind=kind, feature_names=names, ax=ax)
            display.figure_.canvas.draw()
            page = display.figure_.bbox
            for text in display.ax_.get_yticklabels():
                assert text.get_color() == "white"
                assert text.get_window_extent().x0 >= page.x0 - 1


def test_the_norm_readout_has_no_reasons():
    data = make_composite_digits(100, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifier(4, readout="norm", random_state=0).fit(data.X, data.Y)
    with pytest.raises(AttributeError, match="has no attribute 'explain_prediction'"):
        PredictionReasonsDisplay.from_estimator(model, data.X)
