"""The page from its content: one file that asks for nothing."""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from sdgs._utils._templates import template
from sdgs.persistence._atomic_write import write_atomically
from sdgs.report._content import model_content

_SCRIPTS = ("data.js", "measures.js", "labels.js", "maps.js", "pictures.js", "explorer.js")


def write_model_report(
    model: Any,
    X: Any,
    Y: Any,
    path: str | Path,
    *,
    feature_names: Any = None,
    label_names: Any = None,
    sample_names: Any = None,
    rivals: Mapping[str, Any] | None = None,
    shape: tuple[int, int] | None = None,
    title: str = "A model and its samples",
    max_samples: int = 10_000,
    max_explained: int = 500,
) -> Path:
    """Write one page that shows how a model does on samples with known labels, and takes samples apart.

    The page is a single file: it works offline and asks for nothing. It has a threshold that the measures follow, a
    table of labels, maps of labels, and samples to step through, the largest mistakes first.

    Needs the extra ``report``: Jinja2.

    Parameters
    ----------
    model : fitted SDGSClassifier or SDGSClassifierCV
    X : array-like, sparse or DataFrame of shape (n, p)
        Samples, at best some that the model was not fitted to.
    Y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1, or array-like of shape (n,)
        Their labels, in any form that the model takes.
    path : str or Path
        File to write, such as ``report.html``.
    feature_names, label_names, sample_names : array-like, optional
        Default: those of DataFrames and of the model, else numbers.
    rivals : mapping from names to fitted classifiers or to predictions, optional
        What to compare the five measures with. A prediction has the form of ``Y``.
    shape : tuple of 2 ints, optional
        Height and width of the image that a sample is. Default: samples are shown by their features.
    title : str
    max_samples : int, default=10_000
        Of more samples so many, drawn at random; the page says so.
    max_explained : int, default=500
        Samples to take apart: the largest mistakes, and others drawn at random. Images may allow fewer.

    Returns
    -------
    Path
        The page.
    """
    path = Path(path)
    content = model_content(
        model,
        X,
        Y,
        feature_names=feature_names,
        label_names=label_names,
        sample_names=sample_names,
        rivals=rivals,
        shape=shape,
        title=title,
        max_samples=max_samples,
        max_explained=max_explained,
    )
    write_atomically(path, rendered(content))
    return path


def rendered(content: Mapping[str, Any]) -> str:
    """The page as HTML."""
    page = template("sdgs.report", "model.html")
    from markupsafe import Markup  # which comes with Jinja2

    parts = files("sdgs.report") / "templates"
    style = (parts / "model.css").read_text(encoding="utf-8")
    code = "".join((parts / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    script = f'"use strict";\n(() => {{\n{code}}})();\n'
    # Only this very style and script may run, whatever names of labels hold.
    policy = f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}"
    return str(
        page.render(
            content=content,
            policy=policy,
            style=Markup(style),
            script=Markup(script),
            data_json=Markup(_inert(content)),
        )
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _inert(content: Mapping[str, Any]) -> str:
    """JSON that ends no script element and starts no comment in one."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
