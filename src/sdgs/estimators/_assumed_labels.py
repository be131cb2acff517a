"""``assume`` and ``propensity``: what it means that a label is not given."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_number


def check_assumption(model: Any) -> None:
    """Reject invalid values, as far as they can be recognised without the labels."""
    assume, propensity = check_choice(model.assume, "assume", ("negative", "missing")), model.propensity
    if assume == "missing" and isinstance(model.decision, str) and model.decision != "expected":
        raise ValueError(
            f'decision="{model.decision}" is tuned on given labels, but with assume="missing" some are not given. '
            'Use "expected", a threshold or a number of labels.'
        )
    if assume == "missing" and model.metric == "subset_accuracy":
        raise ValueError(
            'metric="subset_accuracy" needs to know how often label sets occur, but with assume="missing" sets are not '
            "known completely. Use another metric."
        )
    if isinstance(propensity, str):
        check_choice(propensity, "propensity", ("auto",))
        return
    if assume != "missing":
        raise ValueError('propensity needs assume="missing": otherwise labels that are not given are negative.')
    if isinstance(propensity, dict):
        raise ValueError("propensity must be a number, or one number per label in the order of classes_, not a dict.")
    for value in np.ravel(propensity):
        if check_number(value, "propensity", positive=True) > 1:
            raise ValueError(f"propensity must be a probability, a number in (0, 1]; got {value:g}.")


def given_propensity(propensity: Any, n_labels: int) -> NDArray[np.float64]:
    """One propensity per label."""
    if np.shape(propensity) not in ((), (n_labels,)):
        raise ValueError(f"propensity must be one number, or one for each of the {n_labels} labels.")
    return np.array(np.broadcast_to(propensity, n_labels), dtype=np.float64)
