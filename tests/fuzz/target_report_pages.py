"""Pages with odd names: their elements do not depend on the names, and their data hold the names unchanged."""

import json
import warnings
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fuzz.checks import VALID, check_error, only_changes
from fuzz.draw import CONTROL_NAMES, ODD_NAMES, SURROGATE_NAMES, chance, distinct_names
from fuzz.small_models import FEATURES, LABELS, fitted_models, samples
from sdgs.report import write_model_report

_NAMES = (*ODD_NAMES, *CONTROL_NAMES)
_N_SAMPLES = 6


class _Page(HTMLParser):
    """The elements of a page, with their attributes' names, and the text of its data."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._script = [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, tuple(name for name, _ in attributes)))
        self._script = dict(attributes).get("type") if tag == "script" else None
        for name, value in attributes:
            assert not (name in ("src", "href") and not (value or "").startswith(("#", "data:"))), f"loads {value!r}"

    def handle_endtag(self, _):
        self._script = None

    def handle_data(self, data):
        if self._script == "application/json":
            self.texts.append(data)


def _write(folder, **names):
    X, Y = samples()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        path = write_model_report(fitted_models()[3], X[:_N_SAMPLES], Y[:_N_SAMPLES], folder / "page.html", **names)
    return path.read_bytes().decode()


@cache
def _expected_elements(folder):
    page = _write(folder, feature_names=FEATURES, label_names=LABELS, title="Title")
    (folder / "page.html").unlink()
    return _Page(page).elements


def prepare():
    with TemporaryDirectory() as folder:  # matplotlib opens fonts and keeps them
        _check_picture({"feature_names": FEATURES, "label_names": LABELS}, Path(folder))


def run_case(rng, folder):
    elements = _expected_elements(folder)
    pool = (*_NAMES, *SURROGATE_NAMES) if chance(rng, 0.1) else _NAMES
    names = {
        "feature_names": distinct_names(rng, len(FEATURES), odd=0.7, pool=pool),
        "label_names": distinct_names(rng, len(LABELS), odd=0.7, pool=pool),
        "title": distinct_names(rng, 1, odd=0.9, pool=pool)[0],
    }
    if chance(rng, 0.5):
        names["sample_names"] = distinct_names(rng, _N_SAMPLES, odd=0.7, pool=pool)
    with only_changes(folder, "page.html"):
        try:
            text = _write(folder, **names)
        except ValueError as error:
            return check_error(error)
    page = _Page(text)
    assert page.elements == elements, "names change the elements of the page"
    _check_data(page.texts, names)
    if chance(rng, 0.15):
        return _check_picture(names, folder)
    return VALID


def _check_data(texts, names):
    content = json.dumps([json.loads(text) for text in texts])
    for name in (*names["label_names"], *names["feature_names"]):
        assert json.dumps(name)[1:-1] in content, f"a name is not in the data of the page: {name!r}"


def _check_picture(names, folder):
    import matplotlib.pyplot as plt

    X, _ = samples()
    explained = fitted_models()[3].explain(
        X[:1], feature_names=names["feature_names"], label_names=names["label_names"]
    )
    assert np.isfinite(explained[0].sample).all(), "an explanation is not finite"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # the font lacks a character
        figure = explained[0].plot().figure_
        try:
            figure.savefig(folder / "picture.png")
        finally:
            plt.close(figure)
    return VALID
