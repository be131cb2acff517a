"""Why a label with its probability is predicted or not: the rule, and what the rule compares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.readout._decision import Decision

_MEASURES = {"f1": "F1", "accuracy": "accuracy", "hamming_loss": "Hamming loss"}


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
        The name of the measure that the model optimises.
    probability : float
    threshold : float or None
        The probability that decides: a label with more is predicted. With "expected" and F1 or accuracy it is half of
        the best expected F1 of this sample. None with "top" and "most probable".
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
            place = "one" if self.predicted else "none"
            return f"It is {place} of the {self.n_predicted} most probable labels ({p}, rank {self.rank})."
        if self.rule == "most probable":
            if self.predicted:
                return f"{p} alone would not suffice, but it is the most probable label, and every sample gets one."
            return f"{p} does not suffice, and it is not the most probable label."
        assert self.threshold is not None
        side = "is above" if self.probability > self.threshold else "is below"
        if self.probability == self.threshold:
            side = "equals"
        threshold = format_probability(self.threshold)
        if p == f"p = {threshold}" and self.probability != self.threshold:
            p, threshold = f"p = {self.probability:.4f}", f"{self.threshold:.4f}"
        if self.rule == "threshold":
            return f"{p} {side} the threshold {threshold}."
        assert self.value_with is not None
        assert self.value_without is not None
        compared = (
            f"the expected {self.measure} of the set is {self.value_with:.3g} with it and "
            f"{self.value_without:.3g} without it"
        )
        if self.measure == "Hamming loss":
            return f"{p} {side} {threshold}: {compared}."
        if self.predicted != (self.probability > self.threshold):  # the empty set is better than any other
            return f"{p}: {compared}."
        return f"{p} {side} {threshold}, half of the best expected F1: {compared}."


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
        threshold, filled = _best_expected_f1(P) / 2, False
    if filled:
        return LabelDecision(is_predicted, "most probable", measure, p, None, None, None, *common)
    if decision.thresholds is not None:
        return LabelDecision(is_predicted, "threshold", measure, p, threshold, None, None, *common)
    value_with, value_without = (_expected_value(decision, P, predicted, label, member) for member in (True, False))
    return LabelDecision(is_predicted, "expected", measure, p, threshold, value_with, value_without, *common)


def _best_expected_f1(P: NDArray[np.float64]) -> float:
    """The largest expected F1 of a set that is not empty: that of the m most probable labels, for the best m."""
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
    f1 = float(2 * P[labels].sum() / (labels.sum() + P.sum()))
    return f1 if decision.metric == "f1" else f1 / (2 - f1)


def format_probability(p: float) -> str:
    """Two decimals, and one digit of what would be 0.00."""
    return f"{p:.2f}" if p >= 0.005 or p == 0 else f"{p:.1g}"
