"""``save`` of estimators."""

from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from sdgs._utils._last_step import last_step
from sdgs.persistence.codecs._model_codec import save_model
from sdgs.preprocessing._table_encoder import encoder_of


def save_fitted(
    estimator: Any, path: str | Path, feature_names: Any, label_names: Any, column_formats: Any = None
) -> None:
    """Write a fitted estimator of this package, or a pipeline that ends with one, with its names."""
    check_is_fitted(estimator)
    model = last_step(estimator)
    model._check_parameters()
    own_names = getattr(estimator, "feature_names_", None) if feature_names is None else feature_names
    names = {
        "features": own_names if encoder_of(estimator) is None else None,
        "labels": getattr(model, "label_names_", None) if label_names is None else label_names,
    }
    own_formats = getattr(estimator, "column_formats_", None) if column_formats is None else column_formats
    save_model(estimator, Path(path), names, own_formats)


class SavingMixin:
    """Mixin: writes model files.

    A class that can be stored declares its fitted attributes in ``_stored_attributes``, a dict from their names to
    fields of ``persistence/codecs/_stored_fields.py``. Its base classes may declare some too.
    """

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _finish_loading(self) -> None:
        """Raise a ValueError if attributes from a file do not fit together; set those that follow from others."""

    def save(
        self, path: str | Path, *, feature_names: Any = None, label_names: Any = None, column_formats: Any = None
    ) -> None:
        """Write the fitted model to one file, which :func:`sdgs.load` reads; no pickle.

        The loaded model has the same parameters and fitted attributes, and its predictions are equal to the last digit.
        The file appears whole or not at all, and replaces one of the same name.

        Parameters
        ----------
        path : str or Path
            Usually ends in ``.sdgs``.
        feature_names, label_names : sequence of str, optional
            Names for the columns of ``X`` and ``y`` if those were arrays without names. The loaded model has them as
            ``feature_names_`` and ``label_names_``, and keeps them when it is saved again. ``sdgs predict`` finds
            columns by them. Names of features are not used if the model has an ``encoder_``, which names them.
        column_formats : dict from names to ColumnFormat, optional
            How the columns of files are read: ``formats`` of the table that :func:`sdgs.datasets.read_table` returned,
            in the order of the columns of ``X``. The loaded model has them as ``column_formats_``.

        Raises
        ------
        ModelFileError
            If the file cannot hold all of the model: a subclass, a classifier of scikit-learn that is not among those
            which docs/model-format.md lists, a function as a parameter, classes or column names that are neither
            strings nor numbers, columns of ``y`` with an unusual dtype, more than 1024 threads as ``n_jobs``; or if a
            name in ``feature_names`` or ``label_names`` occurs twice. ``sdgs fit`` checks parameters and names before
            the training.

        Notes
        -----
        docs/model-format.md describes the file. ``checkpoint`` is not stored, nor is a ``RandomState`` as
        ``random_state``, of which there is a warning: the loaded model has None for them, which matters only if it is
        fitted again.
        """
        save_fitted(self, path, feature_names, label_names, column_formats)
