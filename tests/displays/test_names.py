"""Names of labels and features are drawn as they are, whatever characters they have."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.displays import (
    AngleMapDisplay,
    CooccurrenceDisplay,
    LabelMetricsDisplay,
    LabelSubspacesDisplay,
    SampleDecompositionDisplay,
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


DRAW = {
    "bars": draw_sample,
    "images": partial(draw_sample, shape=(2, 2)),
    "subspaces": draw_subspaces,
    "subspaces as images": partial(draw_subspaces, shape=(2, 2)),
    "angles": lambda model, _, Y: AngleMapDisplay.from_estimator(model, label_names=Y.columns),
    "tree": lambda model, _, Y: AngleMapDisplay.from_estimator(model, label_names=Y.columns, kind="tree"),
    "cooccurrence": lambda _model, _X, Y: CooccurrenceDisplay.from_predictions(Y),
    "metrics": lambda _model, _X, Y: LabelMetricsDisplay.from_predictions(Y, Y),
}


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
