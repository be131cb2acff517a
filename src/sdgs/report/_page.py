"""The page, rendered from its content into one file that loads nothing."""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from sdgs._utils._templates import template
from sdgs._utils._text import printable_json
from sdgs.persistence._atomic_write import write_atomically
from sdgs.report._content import model_content

_SCRIPTS = ("data.js", "metrics.js", "labels.js", "maps.js", "decompositions.js", "reasons.js", "explorer.js")


def write_model_report(
    model: Any,
    X: Any,
    Y: Any,
    path: str | Path,
    *,
    feature_names: Any = None,
    label_names: Any = None,
    sample_names: Any = None,
    compared_methods: Mapping[str, Any] | None = None,
    shape: tuple[int, int] | None = None,
    title: str = "A model and its samples",
    max_samples: int = 10_000,
    max_explained: int = 500,
) -> Path:
    """Write a page that evaluates a model on samples with known labels and explains individual samples.

    The page is a single file that works offline. It shows the metrics of the model and of a common threshold that the
    reader can move, metrics per label and what marks each label, heat maps of labels, and samples to browse, largest
    mistakes first: why each label is predicted or not, and what each label contributes to the sample.

    Needs the extra ``report``: Jinja2.

    Parameters
    ----------
    model : fitted SDGSClassifier or SDGSClassifierCV, or Pipeline
        The last step of a pipeline must be one of these; the samples that reach it are explained.
    X : array-like, sparse or DataFrame of shape (n, p), or whatever the pipeline takes
        Samples, preferably held out from training.
    Y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1, or array-like of shape (n,)
        Their labels, in any form that the model accepts. Unobserved labels (NaN) are neither shown nor counted.
    path : str or Path
        File to write, such as ``report.html``.
    feature_names, label_names, sample_names : array-like, optional
        Default: names of DataFrames, of the model and of the steps of a pipeline, else numbers.
    compared_methods : mapping from names to fitted classifiers or to predictions, optional
        Other methods whose metrics are shown beside those of the model. A classifier gets ``X`` as it is given; a
        prediction has the form of ``Y``.
    shape : tuple of 2 ints, optional
        Height and width of the samples as images. Default: show features as bars.
    title : str
    max_samples : int, default=10_000
        If there are more samples, this number is drawn at random, and the page says so.
    max_explained : int, default=500
        The maximum number of explained samples: the largest mistakes, and others drawn at random. Images and samples
        with many labels reduce it, to limit the size of the page.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    content = model_content(
        model,
        X,
        Y,
        feature_names=feature_names,
        label_names=label_names,
        sample_names=sample_names,
        compared_methods=compared_methods,
        shape=shape,
        title=title,
        max_samples=max_samples,
        max_explained=max_explained,
    )
    write_atomically(path, render_page(content))
    return path


def render_page(content: Mapping[str, Any]) -> str:
    """The page as HTML."""
    page = template("sdgs.report", "model.html")
    from markupsafe import Markup  # a dependency of Jinja2

    folder = files("sdgs.report") / "templates"
    style = (folder / "model.css").read_text(encoding="utf-8")
    code = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    script = f'"use strict";\n(() => {{\n{code}}})();\n'
    # The browser runs only this style and script, even if names of labels contain HTML.
    policy = f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}"
    texts = {"style": style, "script": script, "data_json": _json_for_script(content)}
    markup = {name: Markup(text) for name, text in texts.items()}
    return str(page.render(content=content, policy=policy, signed=_signed, **markup))


def _signed(part: float) -> str:
    return f"{part:+.2f}".replace("-", "\N{MINUS SIGN}")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _json_for_script(content: Mapping[str, Any]) -> str:
    """JSON that cannot end a script element or start a comment inside one, and that UTF-8 can encode."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return printable_json(text).replace("<", "\\u003c")
