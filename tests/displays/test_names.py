"""Names of labels and features are drawn as they are, whatever characters they have."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgs import SDGSClassifier, load
from sdgs._utils._last_step import known_label_names
from sdgs.datasets import make_label_subspaces
from sdgs.displays import (
    AngleMapDisplay,
    ConvergenceDisplay,
    CooccurrenceDisplay,
    LabelInfluenceDisplay,
    LabelMetricsDisplay,
    LabelSubspacesDisplay,
    PredictionReasonsDisplay,
    SampleDecompositionDisplay,
    ThresholdCurveDisplay,
)
from sdgs.displays._image_decompositions import plot_image_decompositions

# Mathematics that cannot be parsed and that can, and characters that fonts, SVG or UTF-8 do not have.
NAMES = {
    "$a_{$": r"\$a_{\$",
    "$$": r"\$\$",
    "$x$": r"\$x\$",
    r"5\$, 7\$": r"5\\$, 7\\$",
    "\x1b[2J\n\x00\ud800": r"\x1b[2J\n\x00\ud800",
    "_private": "_private",
}


@pytest.fixture(scope="module", params=NAMES)
def named(request):
    """A model whose labels and features have an odd name, the samples, the labels, and the name as it is written."""
    data = make_label_subspaces(60, 4, 3, n_components=1, noise=0.1, random_state=0)
    X = pd.DataFrame(data.X, columns=pd.Index([request.param, "f", "g", "h"], dtype=object))
    Y = pd.DataFrame(data.Y, columns=pd.Index([request.param, "residual", "c"], dtype=object))
    return SDGSClassifier(1, huber=0.5, random_state=0).fit(X, Y), X, Y, NAMES[request.param]


def draw_sample(model, X, Y, **options):
    return SampleDecompositionDisplay.from_estimator(model, X, sample=0, labels=Y.to_numpy() >= 0, **options)


def draw_subspaces(model, X, Y, **options):
    names = {"label_names": Y.columns, "feature_names": X.columns}
    return LabelSubspacesDisplay.from_estimator(model, **names, **options)


def draw_reasons(model, X, Y, **options):
    return PredictionReasonsDisplay.from_estimator(model, X, label=Y.columns[0], **options)


DRAW = {
    "waterfall": draw_reasons,
    "reasons": partial(draw_reasons, kind="bar"),
    "reasons as an image": partial(draw_reasons, shape=(2, 2)),
    "influence": lambda _model, _X, Y: LabelInfluenceDisplay(influence=np.eye(3), label_names=Y.columns).plot(),
    "bars": draw_sample,
    "images": partial(draw_sample, shape=(2, 2)),
    "subspaces": draw_subspaces,
    "subspaces as images": partial(draw_subspaces, shape=(2, 2)),
    "angles": lambda model, _, Y: AngleMapDisplay.from_estimator(model, label_names=Y.columns),
    "tree": lambda model, _, Y: AngleMapDisplay.from_estimator(model, label_names=Y.columns, kind="tree"),
    "cooccurrence": lambda _model, _X, Y: CooccurrenceDisplay.from_predictions(Y),
    "metrics": lambda _model, _X, Y: LabelMetricsDisplay.from_predictions(Y, Y),
}


def draw_all_reasons(model, X):
    """The reasons of each of three labels beside each other."""
    axes = plt.subplots(1, 3)[1]
    for label, ax in zip(known_label_names(model), axes, strict=True):
        display = PredictionReasonsDisplay.from_estimator(model, X, label=label, ax=ax)
    return display


FROM_ESTIMATOR = {
    "bars": lambda model, X, Y: draw_sample(model, X, Y),
    "subspaces": lambda model, _X, _Y: LabelSubspacesDisplay.from_estimator(model),
    "angles": lambda model, _X, _Y: AngleMapDisplay.from_estimator(model),
    "tree": lambda model, _X, _Y: AngleMapDisplay.from_estimator(model, kind="tree"),
    "cooccurrence": lambda model, X, _Y: CooccurrenceDisplay.from_estimator(model, X),
    "metrics": lambda model, X, Y: LabelMetricsDisplay.from_estimator(model, X, Y.to_numpy()),
    "waterfall": lambda model, X, _Y: draw_all_reasons(model, X),
}
WITHOUT_NAMES = {
    "convergence": lambda model, _X, _Y: ConvergenceDisplay.from_estimator(model),
    "thresholds": lambda model, X, Y: ThresholdCurveDisplay.from_estimator(model, X, Y.to_numpy()),
}
WITH_FEATURES = ("bars", "subspaces")


def data_without_names(n_samples=60):
    data = make_label_subspaces(n_samples, 4, 3, n_components=1, noise=0.1, random_state=0)
    return data.X, pd.DataFrame(data.Y)


def all_texts(figure):
    return [text.get_text() for text in figure.findobj(plt.Text)]


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
@pytest.mark.parametrize("kind", DRAW)
def test_a_name_is_drawn_as_it_is(kind, named, tmp_path):
    model, X, Y, written = named
    figure = DRAW[kind](model, X, Y).figure_
    for suffix in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"figure.{suffix}")
    assert any(written in text for text in all_texts(figure))


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
@pytest.mark.parametrize("name", NAMES)
def test_the_picture_of_the_demo_draws_names_as_they_are(name, tmp_path):
    truth = np.array([[True, False]])
    parts = np.ones((1, 2, 4))
    figure = plot_image_decompositions(
        np.ones((1, 4)), parts, truth, truth, parts, image_shape=(2, 2), label_names=[name, "b"], title=name
    )
    figure.savefig(tmp_path / "figure.svg")
    assert any(text.startswith(NAMES[name]) for text in all_texts(figure))


def test_a_label_named_like_another_part_is_drawn_as_a_label(named):
    model, X, Y, _ = named
    X = X.copy()
    X.iloc[0, 1] = 1e3
    display = draw_sample(model, X, Y, shape=(2, 2))
    marked = [len(inset.collections) for inset in display.ax_.child_axes]
    assert marked == [1, *[0] * (len(marked) - 2), 1]


def test_a_name_with_an_underscore_is_in_the_legend():
    display = SampleDecompositionDisplay(
        sample=np.ones(2), contributions=np.ones((1, 2)), label_names=["_private"], feature_names=["a", "b"]
    ).plot()
    assert " _private" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("kind", FROM_ESTIMATOR)
def test_a_loaded_model_draws_the_names_stored_with_it(kind, tmp_path):
    X, Y = data_without_names()
    model = SDGSClassifier(1, huber=0.5, random_state=0).fit(X, Y.to_numpy())
    features, labels = [f"feature {j}" for j in "abcd"], ["red label", "green label", "blue label"]
    model.save(tmp_path / "model.sdgs", feature_names=features, label_names=labels)
    texts = all_texts(FROM_ESTIMATOR[kind](load(tmp_path / "model.sdgs"), X, Y).figure_)
    for name in [*labels, *(features if kind in WITH_FEATURES else [])]:
        assert any(text.startswith(name) for text in texts), name


@pytest.mark.parametrize("kind", [*FROM_ESTIMATOR, *WITHOUT_NAMES])
def test_a_pipeline_draws_what_its_last_step_draws(kind):
    X, Y = data_without_names()
    X, Y = pd.DataFrame(X, columns=list("pqrs")), Y.set_axis(["red", "green", "blue"], axis=1)
    pipeline = make_pipeline(StandardScaler(), SDGSClassifier(1, huber=0.5, random_state=0)).fit(X, Y)
    draw = (FROM_ESTIMATOR | WITHOUT_NAMES)[kind]
    scaled = pipeline[0].set_output(transform="pandas").transform(X)
    model = SDGSClassifier(1, huber=0.5, random_state=0).fit(scaled, Y)
    pipeline[0].set_output(transform="default")
    assert sorted(all_texts(draw(pipeline, X, Y).figure_)) == sorted(all_texts(draw(model, scaled, Y).figure_))


def test_names_of_classes_do_not_replace_classes(tmp_path):
    X, Y = data_without_names()
    y = np.where(Y[0] == 1, "r", "b")
    model = SDGSClassifier(1, random_state=0).fit(X, y)
    model.save(tmp_path / "model.sdgs", label_names=["blue label", "red label"])
    expected = LabelMetricsDisplay.from_estimator(model, X, y)
    display = LabelMetricsDisplay.from_estimator(load(tmp_path / "model.sdgs"), X, y)
    np.testing.assert_array_equal(display.f1, expected.f1)
    np.testing.assert_array_equal(display.support, [np.sum(y == "b"), np.sum(y == "r")])
    assert list(display.label_names) == ["blue label", "red label"]
