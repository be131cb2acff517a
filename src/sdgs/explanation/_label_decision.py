"""Why a label with its probability is predicted or not: the rule, and what the rule compares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.readout._decision import Decision

# The measure that decides by metric: the set with the best expected F1 is also the best for accuracy.
_MEASURES = {"f1": "F1", "accuracy": "F1", "hamming_loss": "Hamming loss"}


@dataclass(frozen=True)
class LabelDecision:
    """Why a label is predicted for a sample, or why it is not.

    Attributes
    ----------
    predicted : bool
    rule : {"expected", "threshold", "top", "most probable"}
        "expected": the label set with the best expected measure. "threshold": labels whose probability is at least
        ``threshold``. "top": the ``rank`` most probable labels. "most probable": no label would be predicted by the
        other rules, and the most probable one is, because of ``at_least_one``.
    measure : str
        The name of the measure that decides: F1 if the model optimises accuracy too.
    probability : float
    threshold : float or None
        The probability that decides: a label with more is predicted. With "expected" and F1 or accuracy it is half of
        the best expected F1 of this sample. None with "top" and "most probable", and if the empty set has the best
        expected F1.
    value_with, value_without : float or None
        With "expected": the expected measure of the predicted set with and without the label.
    rank, n_predicted : int
        The position of the label by probability, from 1, and the number of predicted labels.
    """

    predicted: bool
    rule: str
    measure: str
    probability: float
    threshold: float | None
    value_with: float | None
    value_without: float | None
    rank: int
    n_predicted: int

    def text(self) -> str:
        """The decision in one sentence."""
        p = f"p = {format_probability(self.probability)}"
        if self.rule == "top" and self.n_predicted == 1:
            return (
                f"It is the most probable label ({p})."
                if self.predicted
                else (f"It is not the most probable label ({p}, rank {self.rank}).")
            )
        if self.rule == "top":
            place = "one" if self.predicted else "not one"
            return f"It is {place} of the {self.n_predicted} most probable labels ({p}, rank {self.rank})."
        if self.rule == "most probable":
            if self.predicted:
                return f"{p} alone would not suffice, but it is the most probable label, and every sample gets one."
            return f"{p} does not suffice, and it is not the most probable label."
        compared = self._compared_values()
        if self.threshold is None:
            return f"{p}: {compared}."
        side = "is above" if self.probability > self.threshold else "is below"
        if self.probability == self.threshold:
            side = "equals"
        threshold = format_probability(self.threshold)
        if p == f"p = {threshold}" and self.probability != self.threshold:
            p, threshold = f"p = {self.probability:.4f}", f"{self.threshold:.4f}"
        if self.rule == "threshold":
            return f"{p} {side} the threshold {threshold}."
        half = "" if self.measure == "Hamming loss" else ", half of the best expected F1"
        return f"{p} {side} {threshold}{half}: {compared}."

    def _compared_values(self) -> str:
        """The expected measure of the set with and without the label, in words."""
        if self.value_with is None or self.value_without is None:
            return ""
        with_it, without_it = _format_value(self.value_with), _format_value(self.value_without)
        return f"the expected {self.measure} of the set is {with_it} with it and {without_it} without it"


def explain_decision(decision: Decision, P: NDArray[Any], predicted: NDArray[np.bool_], label: int) -> LabelDecision:
    """The decision on one label of a sample, from the probabilities and the predicted set of all labels, both (k,)."""
    P = np.asarray(P, dtype=np.float64)
    p, is_predicted = float(P[label]), bool(predicted[label])
    rank = 1 + int(np.count_nonzero(p < P) + np.count_nonzero(P[:label] == p))
    common = (rank, int(np.count_nonzero(predicted)))
    measure = _MEASURES[decision.metric]
    if decision.top is not None:
        return LabelDecision(is_predicted, "top", measure, p, None, None, None, *common)
    threshold: float | None = None
    if decision.thresholds is not None:
        threshold = float(np.broadcast_to(decision.thresholds, P.shape)[label])
        filled = decision.at_least_one and not (decision.thresholds <= P).any()
    elif decision.metric == "hamming_loss":
        threshold, filled = 0.5, decision.at_least_one and not (P >= 0.5).any()
    else:
        best = _best_expected_f1(P)
        threshold = best / 2 if predicted.any() else None
        # Labels beside the only one are compared with it, and it with the empty set, which is not allowed.
        filled = decision.at_least_one and is_predicted and common[1] == 1 and float(np.prod(1 - P)) > best
    if filled:
        return LabelDecision(is_predicted, "most probable", measure, p, None, None, None, *common)
    if decision.thresholds is not None:
        return LabelDecision(is_predicted, "threshold", measure, p, threshold, None, None, *common)
    value_with, value_without = (_expected_value(decision, P, predicted, label, member) for member in (True, False))
    return LabelDecision(is_predicted, "expected", measure, p, threshold, value_with, value_without, *common)


def is_predicted_at(decision: Decision, P: NDArray[Any], label: int, probability: float) -> bool:
    """Whether a label would be predicted with another probability, if those of the other labels are P (k,)."""
    changed = np.array(P, dtype=np.float64)
    changed[label] = probability
    return bool(decision.decide(changed[None])[0, label])


def _best_expected_f1(P: NDArray[np.float64]) -> float:
    """The largest expected F1 of a set that is not empty; the best set consists of the most probable labels."""
    leading = np.cumsum(np.sort(P)[::-1])
    return float((2 * leading / (np.arange(1, P.size + 1) + leading[-1])).max())


def _expected_value(
    decision: Decision, P: NDArray[np.float64], predicted: NDArray[np.bool_], label: int, member: bool
) -> float:
    """The expected measure of the predicted set if the label is a member, or if it is not."""
    labels = predicted.copy()
    labels[label] = member
    if decision.metric == "hamming_loss":
        return float(np.where(labels, 1 - P, P).mean())
    if not labels.any():
        return float(np.prod(1 - P))
    return float(2 * P[labels].sum() / (labels.sum() + P.sum()))


def _format_value(value: float) -> str:
    return f"{value:.3g}" if value >= 0.001 or value == 0 else "less than 0.001"


def format_probability(p: float) -> str:
    """Two decimals, and one digit of what would be 0.00."""
    return f"{p:.2f}" if p >= 0.005 or p == 0 else f"{p:.1g}"
