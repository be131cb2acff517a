"""Models and predictions to draw, and checks that a drawing can be read."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits, make_label_subspaces


@pytest.fixture(autouse=True)
def close_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def digits():
    train = make_composite_digits(600, max_labels=2, spikes=0.03, subset="train", random_state=0)
    test = make_composite_digits(60, max_labels=2, spikes=0.03, subset="test", random_state=1)
    return SDGSClassifier(huber=0.05, random_state=0).fit(train.X, train.Y), test


@pytest.fixture(scope="session")
def standardized():
    """Standardised features with names, and labels with names."""
    data = make_label_subspaces(200, 12, 4, n_components=2, noise=0.1, random_state=0)
    X = pd.DataFrame(data.X + 5, columns=[f"feature {j}" for j in range(12)])
    Y = pd.DataFrame(data.Y, columns=["red", "green", "blue", "yellow"])
    return SDGSClassifier(2, scaling="columns", random_state=0).fit(X, Y), X, Y


@pytest.fixture(scope="session")
def words():
    """A model of words with names, and a DataFrame."""
    rng = np.random.default_rng(0)
    Y = (rng.random((240, 4)) < 0.3).astype(int)
    X = (rng.random((240, 40)) < 0.1).astype(float)
    for label in range(4):
        X[:, label] = Y[:, label] & (rng.random(240) < 0.9)
    X = pd.DataFrame(X, columns=[f"word {j}" for j in range(40)])
    return SDGSClassifier(random_state=0).fit(X, Y), X


@pytest.fixture(scope="session")
def many_labels():
    """374 labels with long names."""
    rng = np.random.default_rng(0)
    Y = (rng.random((500, 374)) < 0.03).astype(int)
    names = [f"a label with a rather long name, number {i}" for i in range(374)]
    components = [np.linalg.qr(rng.standard_normal((40, 2)))[0].T for _ in range(374)]
    return Y, np.clip(Y * 0.6 + rng.random(Y.shape) * 0.4, 0, 1), names, components


@pytest.fixture(scope="session")
def texts():
    """A function that returns the tick labels and texts of axes."""
    return lambda ax: [
        text.get_text() for text in [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts] if text.get_text()
    ]


@pytest.fixture(scope="session")
def assert_readable():
    """A function that checks that no text is cut off or overlaps its neighbour."""
    return check_texts


def check_texts(display):
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
        for left, right in zip(boxes[:-1], boxes[1:], strict=True):
            assert getattr(left, high) <= getattr(right, low) + 1
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        if text.get_text():
            box = text.get_window_extent()
            assert box.x0 >= page.x0 - 1
            assert box.x1 <= page.x1 + 1
            assert box.y0 >= page.y0 - 1
            assert box.y1 <= page.y1 + 1
