"""Model files of methods with learners of scikit-learn: one loads into a model that predicts, or gives one error.

Numbers may be forged so that predictions overflow; but no sample may lead out of an array, and nothing may run forever.
"""

import warnings

import numpy as np
from scipy.sparse import issparse

import sdgs
from fuzz.checks import VALID, check_error, only_changes
from fuzz.containers import mutate_container
from fuzz.draw import pick
from fuzz.small_models import estimator_contents
from sdgs import ModelFileError
from sdgs._utils._last_step import number_of_features
from sdgs._utils._overflow import TooLargeError

_SAMPLES = np.abs(np.random.default_rng(1).standard_normal((3, 64)))
_MAX_DRAWS = 1 << 16  # a forged parameter may ask a prediction to draw more, which takes memory but harms nothing else


def prepare():
    estimator_contents()


def run_case(rng, folder):
    return check_content(mutate_container(pick(rng, estimator_contents()), rng), folder)


def check_content(content, folder):
    path = folder / "model.sdgs"
    path.write_bytes(content)
    with only_changes(folder):
        try:
            model = sdgs.load(path)
        except ModelFileError as error:
            return check_error(error)
    repr(model)
    if any(
        name.endswith(("n_draws", "beam_width")) and value > _MAX_DRAWS for name, value in model.get_params().items()
    ):
        return VALID
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of scikit-learn, about forged numbers
        answers = predictions(model)
        with only_changes(folder, "again.sdgs"):
            sdgs.save(model, folder / "again.sdgs")
        again = predictions(sdgs.load(folder / "again.sdgs"))
    for method, answer in answers.items():
        same = np.array_equal(answer, again[method], equal_nan=answer.dtype.kind == "f")
        assert same, f"{method} of a model that was saved and loaded is different"
    return VALID


def predictions(model):
    """The answers of all methods, or the text of the error about numbers that are too large."""
    n, p = len(_SAMPLES), number_of_features(model)
    X = _SAMPLES[:, :p] if p <= _SAMPLES.shape[1] else np.ones((n, p))
    answers = {}
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if not hasattr(model, method):
            continue
        try:
            answer = getattr(model, method)(X)
        except (TooLargeError, ValueError) as error:
            assert is_about_numbers(str(error)), f"{method}: {error}"
            answer = np.array(str(error))
        answers[method] = answer.toarray() if issparse(answer) else np.asarray(answer)
        assert answers[method].ndim == 0 or len(answers[method]) == n, f"{method} has another number of samples"
    return answers


def is_about_numbers(message):
    return any(
        part in message
        for part in ("NaN or infinity", "too large", "contains infinity", "contains NaN", "labels are not constant")
    )
