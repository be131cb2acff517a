"""Explanations, audits and ``save`` as functions of a model or of a pipeline whose last step is one."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from sdgs._utils._last_step import (
    at_last_step,
    known_feature_names,
    last_step,
    samples_of_last_step,
    stored_feature_names,
)
from sdgs.audit._suspicious_labels import SuspiciousLabels
from sdgs.estimators._saving import SavingMixin, save_fitted
from sdgs.estimators._sdgs_model import SDGSModel
from sdgs.explanation import Counterfactual, Explanation, LabelExplanation, PredictionExplanation
from sdgs.persistence.codecs._estimator_codec import unstorable_steps


def explain(
    estimator: Any, X: Any, labels: Any = None, *, feature_names: Any = None, label_names: Any = None
) -> Explanation:
    """Decompose samples by a fitted model, or by a fitted pipeline whose last step is one.

    For a model the same as its method ``explain``. A pipeline transforms the samples by all steps but the last, and the
    result is decomposed: contributions are in the units of the transformed features.

    Parameters
    ----------
    estimator : SDGSClassifier, SDGSClassifierCV or Pipeline
        Fitted.
    X : array-like, sparse, DataFrame or whatever the pipeline takes, of n samples
    labels : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
        The labels of each sample to decompose it over. Default: the predicted labels.
    feature_names : array-like of shape (p,), optional
        Names of the transformed features. Default: those that the model knows, else ``get_feature_names_out`` of the
        steps before it.
    label_names : array-like of shape (k,), optional
        Default: ``label_names_`` of a loaded model, else ``classes_``.

    Returns
    -------
    Explanation
        A sequence with one explanation per sample, named by the index of ``X`` if that is a DataFrame or a Series.

    Examples
    --------
    >>> import sdgs
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sdgs.datasets import make_label_subspaces
    >>> data = make_label_subspaces(200, 20, 3, n_components=2, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), sdgs.SDGSClassifier(2, random_state=0)).fit(data.X, data.Y)
    >>> sdgs.explain(pipeline, data.X[:5])
    <Explanation of 5 samples: 3 labels, 20 features>
    """
    check_last_step(estimator)
    model, samples, names = at_last_step(estimator, X, feature_names)
    explanation: Explanation = model.explain(samples, labels, feature_names=names, label_names=label_names)
    if not hasattr(X, "iloc"):
        return explanation
    named = (replace(sample, name=name) for sample, name in zip(explanation, X.index, strict=True))
    return replace(explanation, samples=tuple(named))


def explain_prediction(
    estimator: Any, X: Any, labels: Any = None, *, feature_names: Any = None, label_names: Any = None
) -> PredictionExplanation:
    """Split predictions of a fitted model, or of a fitted pipeline whose last step is one, into their reasons.

    For a model the same as its method ``explain_prediction``. A pipeline transforms the samples by all steps but the
    last, and reasons are transformed features.

    Parameters
    ----------
    estimator : SDGSClassifier, SDGSClassifierCV or Pipeline
        Fitted, with ``readout="ridge"``.
    X : array-like, sparse, DataFrame or whatever the pipeline takes, of n samples
    labels : "all", label or list of labels, or array-like or sparse of shape (n, k) with 0 and 1, optional
        The labels to explain. Default: the predicted labels.
    feature_names, label_names : array-like, optional
        Default: as in :func:`explain`.

    Returns
    -------
    PredictionExplanation
        A sequence with the reasons of each sample, named by the index of ``X`` if that is a DataFrame or a Series.

    Examples
    --------
    >>> import sdgs
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sdgs.datasets import make_label_subspaces
    >>> data = make_label_subspaces(200, 20, 3, n_components=2, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), sdgs.SDGSClassifier(2, random_state=0)).fit(data.X, data.Y)
    >>> explanation = sdgs.explain_prediction(pipeline, data.X[:5], labels="all")
    >>> explanation
    <PredictionExplanation of 5 samples: 3 labels, 20 features>
    >>> parts = explanation[0].parts()
    >>> total = parts.base + parts.features.sum(axis=1) + parts.components.sum(axis=1) + parts.neighbours.sum(axis=1)
    >>> bool(abs(total - explanation.log_odds[0]).max() < 1e-9)
    True
    """
    check_last_step(estimator)
    model, samples, names = at_last_step(estimator, X, feature_names)
    explanation: PredictionExplanation = model.explain_prediction(
        samples, labels, feature_names=names, label_names=label_names
    )
    return explanation.with_names(list(X.index)) if hasattr(X, "iloc") else explanation


def explain_labels(estimator: Any, X: Any, *, feature_names: Any = None, label_names: Any = None) -> LabelExplanation:
    """What marks each label, by a fitted model, or by a fitted pipeline whose last step is one.

    For a model the same as its method ``explain_labels``.

    Parameters
    ----------
    estimator : SDGSClassifier, SDGSClassifierCV or Pipeline
        Fitted, with ``readout="ridge"``.
    X : array-like, sparse, DataFrame or whatever the pipeline takes, of n samples
        Some hundred samples, such as training samples.
    feature_names, label_names : array-like, optional
        Default: as in :func:`explain`.

    Returns
    -------
    LabelExplanation
    """
    check_last_step(estimator)
    model, samples, names = at_last_step(estimator, X, feature_names)
    explanation: LabelExplanation = model.explain_labels(samples, feature_names=names, label_names=label_names)
    return explanation


def counterfactual(
    estimator: Any,
    X: Any,
    label: Any,
    *,
    max_features: int = 20,
    feature_names: Any = None,
    label_names: Any = None,
) -> tuple[Counterfactual, ...]:
    """Few features whose removal changes whether a label is predicted, by a fitted model or pipeline.

    For a model the same as its method ``counterfactual``. Of a pipeline, transformed features are removed.

    Parameters
    ----------
    estimator : SDGSClassifier, SDGSClassifierCV or Pipeline
        Fitted, with ``readout="ridge"``.
    X : array-like, sparse, DataFrame or whatever the pipeline takes, of n samples
    label : object
        Name of the label.
    max_features : int, default=20
        If the removal of so many features does not suffice the search ends.
    feature_names, label_names : array-like, optional
        Default: as in :func:`explain`.

    Returns
    -------
    tuple of n Counterfactual
    """
    check_last_step(estimator)
    model, samples, names = at_last_step(estimator, X, feature_names)
    options = {"max_features": max_features, "feature_names": names, "label_names": label_names}
    found: tuple[Counterfactual, ...] = model.counterfactual(samples, label, **options)
    return found


def save(
    estimator: Any,
    path: str | Path,
    *,
    feature_names: Any = None,
    label_names: Any = None,
    column_formats: Any = None,
) -> None:
    """Write a fitted model, or a fitted pipeline that ends with one, to one file, which :func:`sdgs.load` reads.

    For an estimator of this package the same as its method ``save``. A pipeline is written as a whole if a model file
    can hold all its steps: scalers and a TableEncoder, for example; docs/model-format.md has the list. Otherwise its
    last step alone is written, with the names of the features that it reads, and a warning names the steps that are
    left out. That model takes samples that these steps have transformed. To use it on the original samples, keep the
    steps elsewhere, for example by skops, and join both: ``make_pipeline(steps, sdgs.load(path))``.

    Parameters
    ----------
    estimator : estimator of this package or Pipeline
        Fitted.
    path : str or Path
        Usually ends in ``.sdgs``.
    feature_names, label_names : sequence of str, optional
        Names for the columns of ``X`` and ``y`` if those were arrays without names. If only the last step of a pipeline
        is written, ``feature_names`` are those of the transformed features; default: as in :func:`explain`.
    column_formats : dict from names to ColumnFormat, optional
        How the columns of files are read: see the method ``save``. Not written with the last step alone.

    Warns
    -----
    UserWarning
        If steps of the pipeline are not in the file.

    Raises
    ------
    ValueError
        If the last step is not an estimator of this package, or the steps before it give no names.
    ModelFileError
        If the model cannot be stored: see the method ``save``.
    """
    model = last_step(estimator)
    if not isinstance(model, SavingMixin):
        raise ValueError(f"estimator must be one of sdgs, or a Pipeline whose last step is one; got {_what(estimator)}")
    if estimator is model:
        model.save(path, feature_names=feature_names, label_names=label_names, column_formats=column_formats)
        return
    left_out = unstorable_steps(estimator)
    if not left_out:
        save_fitted(estimator, path, feature_names, label_names, column_formats)
        return
    if feature_names is None and stored_feature_names(model) is None:
        feature_names = known_feature_names(estimator)
    model.save(path, feature_names=feature_names, label_names=label_names)
    warnings.warn(
        f"A model file cannot hold {', '.join(left_out)}, so the file does not hold the steps "
        f"{', '.join(_steps_before_last(estimator))} of the pipeline: the loaded model takes samples that they have "
        "transformed.",
        stacklevel=2,
    )


def suspicious_labels(
    estimator: Any, X: Any = None, y: Any = None, *, n_pairs: int | str | None = "auto", label_names: Any = None
) -> SuspiciousLabels:
    """Find labels that are probably wrong or missing, by a fitted model or a fitted pipeline whose last step is one.

    For a model the same as its method ``suspicious_labels``. A pipeline transforms the samples by all steps but the
    last. Out-of-fold probabilities of a pipeline are those of its last step: the steps before it were fitted to all
    training samples.

    Parameters
    ----------
    estimator : SDGSClassifier, SDGSClassifierCV or Pipeline
        Fitted, with ``readout="ridge"``.
    X : array-like, sparse, DataFrame or whatever the pipeline takes, of n samples, optional
        Samples that the model was not fitted to. Default: the training samples, with their out-of-fold probabilities.
    y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
        Their labels.
    n_pairs : int, "auto" or None, default="auto"
        How many pairs to return; ``"auto"``: those that are probably mistakes, None: all.
    label_names : array-like of shape (k,), optional
        Default: ``label_names_`` of a loaded model, else ``classes_``.

    Returns
    -------
    SuspiciousLabels

    Examples
    --------
    >>> import sdgs
    >>> from sdgs.datasets import make_label_subspaces
    >>> data = make_label_subspaces(200, 20, 3, n_components=2, random_state=0)
    >>> Y = data.Y.copy()
    >>> Y[7, 1] = 1 - Y[7, 1]  # a mistake
    >>> suspicious = sdgs.suspicious_labels(sdgs.SDGSClassifier(2, random_state=0).fit(data.X, Y), n_pairs=1)
    >>> int(suspicious.rows[0]), int(suspicious.labels[0])
    (7, 1)
    """
    check_last_step(estimator)
    if X is None:
        found: SuspiciousLabels = last_step(estimator).suspicious_labels(X, y, n_pairs=n_pairs, label_names=label_names)
        return found
    samples = samples_of_last_step(estimator, X)
    suspicious: SuspiciousLabels = last_step(estimator).suspicious_labels(
        samples, y, n_pairs=n_pairs, label_names=label_names
    )
    if not hasattr(X, "iloc"):
        return suspicious
    names = np.empty(len(X.index), dtype=object)
    names[:] = list(X.index)
    return replace(suspicious, sample_names=names[suspicious.rows])


def check_last_step(estimator: Any) -> None:
    """Reject what is neither a model of this package nor a pipeline that ends with one."""
    model = last_step(estimator)
    if isinstance(model, SDGSModel):
        return
    raise ValueError(
        "estimator must be an SDGSClassifier, an SDGSClassifierCV, or a Pipeline whose last step is one; got "
        f"{_what(estimator)}"
    )


def _what(estimator: Any) -> str:
    """What is not an estimator of this package, and what to pass in its place, for an error."""
    model = last_step(estimator)
    what = type(model).__name__ if not isinstance(model, str) else repr(model)
    what = f"a pipeline whose last step is {what}" if isinstance(estimator, Pipeline) else what
    return what + (". Pass its best_estimator_." if hasattr(model, "best_estimator_") else ".")


def _steps_before_last(estimator: Any) -> list[str]:
    """The names of the steps before the last that transform samples."""
    names = []
    while isinstance(estimator, Pipeline):
        names += [name for name, step in estimator.steps[:-1] if step is not None and step != "passthrough"]
        estimator = estimator.steps[-1][1]
    return names
