"""The model at the end of a scikit-learn pipeline, the samples that it is given, and the names that it knows.

All functions take a fitted estimator or a fitted pipeline, whose last step may be a pipeline too.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sdgs._utils._validation import check_names


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline; another estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def number_of_features(estimator: Any) -> int | None:
    """Of the samples that an estimator or a pipeline takes; None if it was fitted to something else."""
    while isinstance(estimator, Pipeline):
        estimator = next((step for _, step in estimator.steps if not _is_passthrough(step)), None)
    number = getattr(estimator, "n_features_in_", None)
    return None if number is None else int(number)


def _is_passthrough(step: Any) -> bool:
    return step is None or isinstance(step, str)


def samples_of_last_step(estimator: Any, X: Any) -> Any:
    """``X`` transformed by all steps but the last, and encoded if the last encodes tables."""
    while isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator.steps[-1][1]
    return estimator._encoded(X) if hasattr(estimator, "_encoded") else X


def stored_feature_names(model: Any) -> Any:
    """The names of its features that a model itself has: of encoded ones, those given to ``save``, of a DataFrame."""
    names = getattr(model, "_encoded_feature_names", None)
    return names if names is not None else getattr(model, "feature_names_", getattr(model, "feature_names_in_", None))


def known_feature_names(estimator: Any) -> Any:
    """The names of the features of the last step, or None: its own, or those that the steps before it give."""
    names = stored_feature_names(last_step(estimator))
    if names is not None:
        return names
    while isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            try:
                names = estimator[:-1].get_feature_names_out(getattr(estimator, "feature_names_", names))
            except (AttributeError, ValueError) as error:
                reason = str(error).partition(". ")[0]  # scikit-learn goes on with advice about slices
                raise ValueError(
                    f"the pipeline does not know the names of the features of its last step: {reason}. Pass "
                    "feature_names."
                ) from None
        estimator = estimator.steps[-1][1]
    return names


def known_label_names(estimator: Any) -> Any:
    """The names of the labels of the last step: those given to ``save``, else ``classes_``; None if it has none."""
    model = last_step(estimator)
    names = getattr(model, "label_names_", getattr(model, "classes_", None))
    return None if isinstance(names, list) else names  # scikit-learn: a list has the values of each label


def feature_names_of(estimator: Any, feature_names: Any, n_features: int) -> NDArray[Any]:
    """``feature_names`` or else the known names or else x0, x1, ..., as an array of ``n_features`` objects."""
    default = known_feature_names(estimator) if feature_names is None else None
    return check_names(feature_names, "feature_names", n_features, default)


def label_names_of(estimator: Any, label_names: Any, n_labels: int) -> NDArray[Any]:
    """``label_names`` or else the known names or else 0, 1, ..., as an array of ``n_labels`` objects."""
    names = known_label_names(estimator)
    return check_names(label_names, "label_names", n_labels, np.arange(n_labels) if names is None else names)


def at_last_step(estimator: Any, X: Any, feature_names: Any) -> tuple[Any, Any, NDArray[Any]]:
    """The last step, its samples, and the names of their features."""
    samples = samples_of_last_step(estimator, X)
    return last_step(estimator), samples, feature_names_of(estimator, feature_names, np.shape(samples)[1])
