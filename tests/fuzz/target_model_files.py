"""Model files: a file loads into a model that predicts, and can be saved again, or gives a ModelFileError."""

import warnings

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

import sdgs
from fuzz.checks import VALID, check_error, only_changes
from fuzz.containers import mutate_container
from fuzz.draw import pick
from fuzz.small_models import model_contents
from sdgs import ModelFileError
from sdgs._utils._overflow import TooLargeError

_SAMPLES = np.abs(np.random.default_rng(1).standard_normal((3, 64)))


_CELLS = {
    "number": [1.0, np.nan, 1e6],
    "date": np.array(["2025-01-02", "NaT", "1900-01-01"], dtype="datetime64[us]"),
    "list": [["a", "z"], [], None],
}


def samples_for(model):
    """Samples that a model takes: an array, or a table."""
    if model.encoder_ is None:
        p = model.n_features_in_
        return _SAMPLES[:, :p] if p <= _SAMPLES.shape[1] else np.ones((len(_SAMPLES), p))
    columns = {column.name: column.kind for column in model.encoder_.columns_}
    return {name: _CELLS.get(kind, ["late late parcel", None, "mail"]) for name, kind in columns.items()}


def prepare():
    model_contents()


def run_case(rng, folder):
    content = pick(rng, model_contents())
    return check_content(mutate_container(content, rng), folder)


def check_content(content, folder):
    path = folder / "model.sdgs"
    path.write_bytes(content)
    with only_changes(folder):
        try:
            model = sdgs.load(path)
        except ModelFileError as error:
            return check_error(error)
    model.get_params()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        warnings.filterwarnings("ignore", message="X has feature names, but", category=UserWarning)
        try:
            answers = check_predictions(model)
        except TooLargeError as error:  # forged numbers for which ordinary samples are too large
            return check_error(error)
        with only_changes(folder, "again.sdgs"):
            model.save(folder / "again.sdgs")
        saved = sdgs.load(folder / "again.sdgs")
        again = check_predictions(saved)
        check_updates(model, saved)
    for method, answer in answers.items():
        same = np.array_equal(answer, again[method], equal_nan=answer.dtype.kind == "f")
        assert same, f"{method} of a model that was saved and loaded is different"
    return VALID


def check_predictions(model):
    """The answers of all methods, after a check of their shapes and values."""
    n, k, X = len(_SAMPLES), len(model.classes_), samples_for(model)
    answers = {}
    for method in ("predict", "predict_proba", "decision_function", "transform", "contributions"):
        if hasattr(model, method):
            answer = getattr(model, method)(X)
            answers[method] = answer.toarray() if issparse(answer) else np.asarray(answer)
    assert answers["predict"].shape[0] == n, "predict has another number of samples"
    for method, answer in answers.items():
        finite = answer.dtype.kind not in "fc" or np.isfinite(answer).all()
        assert finite, f"{method} is not finite"
    if "predict_proba" in answers:
        probabilities = answers["predict_proba"]
        assert probabilities.shape == (n, k), f"probabilities have shape {probabilities.shape}"
        assert ((probabilities >= 0) & (probabilities <= 1)).all(), "a probability is not between 0 and 1"
        check_suspicious_labels(model, answers)
    return answers


def check_updates(model, saved):
    """A model that can be updated learns, or says why it cannot; a saved one does the same."""
    if not hasattr(model, "n_samples_seen_"):
        return
    labels, probabilities = csr_array(np.eye(len(_SAMPLES), len(model.classes_), dtype=bool)), []
    for one in (model, saved):
        before = dict(vars(one))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                one._update_by_matrix(samples_for(one), labels, ())
            except ValueError:  # forged numbers may overflow, or a label may have no samples
                assert vars(one) == before, "an update that failed has changed the model"
                return
        assert one.n_samples_seen_ >= len(_SAMPLES)
        probabilities.append(np.asarray(one.predict_proba(samples_for(one))))
    np.testing.assert_array_equal(*probabilities)


def check_suspicious_labels(model, answers):
    """Those of the training samples, which a forged file may say anything about, are added to the answers."""
    if not hasattr(model, "out_of_fold_rows_"):  # an update by sums leaves none
        return
    n, _, k = model.decomposition_.shape
    suspicious = model.suspicious_labels(n_pairs=5)
    assert ((suspicious.rows >= 0) & (suspicious.rows < n)).all(), "a sample is out of range"
    assert ((suspicious.labels >= 0) & (suspicious.labels < k)).all(), "a label is out of range"
    assert ((suspicious.score >= 0) & (suspicious.score <= 1)).all(), "a score is not between 0 and 1"
    assert 0 <= suspicious.n_wrong <= suspicious.n_given, "more labels are wrong than are given"
    answers["suspicious_labels"] = np.column_stack([suspicious.rows, suspicious.labels])
