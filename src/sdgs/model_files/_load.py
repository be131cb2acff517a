"""Reading a saved model: the file names its class, and only those listed here can be named."""

from pathlib import Path
from typing import Any

from sdgs import methods
from sdgs.estimators._averaging_classifier import AveragingClassifier
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.estimators._classifier_cv import SDGSClassifierCV
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.persistence.codecs._model_codec import load_model

STORABLE_CLASSES = (
    AveragingClassifier,
    DecisionClassifier,
    SDGSClassifier,
    SDGSClassifierCV,
    *(method for name in methods.__all__ if isinstance(method := getattr(methods, name), type)),
)


def load(path: str | Path) -> Any:
    """Read a model that ``save`` wrote: the same parameters, fitted attributes and predictions, to the last digit.

    Nothing in the file is run or imported, and reading takes no more memory than a small multiple of its size. A file
    from an untrusted source is safe to load, but its predictions are only as good as its source: the checksum detects
    damage, not forgery.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        An object of the class that was saved: an estimator of this package, or a scikit-learn ``Pipeline`` that ends
        with one.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or has a newer format than this version knows; or if it holds a
        classifier of scikit-learn with parameters or attributes that the installed version does not have.

    Examples
    --------
    >>> import sdgs, tempfile
    >>> from pathlib import Path
    >>> from sdgs.datasets import make_label_subspaces
    >>> data = make_label_subspaces(200, 20, 3, n_components=2, random_state=0)
    >>> model = sdgs.SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.sdgs")
    ...     again = sdgs.load(Path(folder) / "model.sdgs")
    >>> bool((again.predict_proba(data.X) == model.predict_proba(data.X)).all())
    True
    """
    return load_model(Path(path), STORABLE_CLASSES)
