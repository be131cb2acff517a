"""Why a label with its probability is predicted or not: the rule, and what the rule compares."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.readout._decision import Decision, weighted_probabilities

# The measure that decides by metric: the set with the best expected F1 is also the best for accuracy.
_MEASURES = {
    "f1": "F1",
    "accuracy": "F1",
    "hamming_loss": "Hamming loss",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "subset_accuracy": "subset accuracy",
}


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
        the best expected F1 of this sample. If the label has a weight, it is the value that the probability itself,
        without the weight, must reach. None with "top" and "most probable", if the empty set has the best expected F1,
        and for subset accuracy if label sets of training samples are compared.
    value_with, value_without : float or None
        With "expected": the expected measure of the predicted set with and without the label; where label sets are
        compared, the probability of the most probable one with it and of the most probable one without it.
    rank, n_predicted : int
        The position of the label by probability, from 1, and the number of predicted labels.
    label_weight : float or None
        What the odds of the label are multiplied by (``label_weight`` of the estimator). ``value_with``,
        ``value_without`` and ``rank`` are those of probabilities with the weights of labels.
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
    label_weight: float | None = None

    def text(self) -> str:
        """The decision in one sentence; with a weight of the label in two."""
        if self.label_weight is None:
            return self._comparison("p")
        p, weighted = format_probability(self.probability), format_probability(self._weighted(self.probability))
        effect = f"the odds of this label are multiplied by {self.label_weight:.3g}, so that p = {p} becomes {weighted}"
        if self.threshold is not None:
            effect += f" and p must reach {format_probability(self.threshold)}"
        return f"{self._comparison('weighted p')} {effect[0].upper()}{effect[1:]}."

    def _weighted(self, probability: float) -> float:
        """A probability with the weight of the label."""
        if self.label_weight is None:
            return probability
        return float(weighted_probabilities(np.asarray([[probability]]), np.asarray([self.label_weight]))[0, 0])

    def _comparison(self, name: str) -> str:
        """What was compared, in one sentence; probabilities have the weight of the label, and this name."""
        probability = self._weighted(self.probability)
        p = f"{name} = {format_probability(probability)}"
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
        limit = self._weighted(self.threshold)
        threshold = format_probability(limit)
        if p == f"{name} = {threshold}" and self.probability != self.threshold:
            p, threshold = f"{name} = {probability:.4f}", f"{limit:.4f}"
        if self.rule == "threshold":
            return f"{p} {side} the threshold {threshold}."
        half = ", half of the best expected F1" if self.measure == "F1" else ""
        return f"{p} {side} {threshold}{half}: {compared}."

    def _compared_values(self) -> str:
        """The expected measure of the set with and without the label, in words."""
        if self.value_with is None or self.value_without is None:
            return ""
        with_it, without_it = _format_value(self.value_with), _format_value(self.value_without)
        if self.measure == "subset accuracy":
            return f"the most probable set with it has probability {with_it}, that without it {without_it}"
        return f"the expected {self.measure} of the set is {with_it} with it and {without_it} without it"


def explain_decision(decision: Decision, P: NDArray[Any], predicted: NDArray[np.bool_], label: int) -> LabelDecision:
    """The decision on one label of a sample, from the probabilities and the predicted set of all labels, both (k,)."""
    own = float(np.asarray(P, dtype=np.float64)[label])
    P = weighted_probabilities(np.asarray(P, dtype=np.float64), decision.label_weight)
    weight = None if decision.label_weight is None else float(decision.label_weight[label])
    p, is_predicted = float(P[label]), bool(predicted[label])
    rank = 1 + int(np.count_nonzero(p < P) + np.count_nonzero(P[:label] == p))
    n_predicted = int(np.count_nonzero(predicted))

    def explained(rule: str, threshold: float | None = None, *values: float) -> LabelDecision:
        with_it, without_it = values or (None, None)
        measure = _MEASURES[decision.metric]
        return LabelDecision(
            is_predicted, rule, measure, own, threshold, with_it, without_it, rank, n_predicted, weight
        )

    if decision.top is not None:
        return explained("top")
    if decision.label_sets is not None:
        return explained("expected", None, *_set_values(decision, P, label))
    thresholds = decision.thresholds_for(P[None])
    if thresholds is not None:
        threshold: float | None = float(np.broadcast_to(thresholds, P.shape)[label])
        filled = decision.at_least_one and not (thresholds <= P).any()
    else:
        best = _best_expected_f1(P)
        threshold = best / 2 if predicted.any() else None
        # Labels beside the only one are compared with it, and it with the empty set, which is not allowed.
        filled = decision.at_least_one and is_predicted and n_predicted == 1 and float(np.prod(1 - P)) > best
    if filled:
        return explained("most probable")
    if threshold is not None and weight is not None:
        threshold = threshold if threshold >= 1 else threshold / (weight * (1 - threshold) + threshold)
    if decision.thresholds is not None or decision.metric in ("micro_f1", "macro_f1"):
        return explained("threshold", threshold)
    values = (_expected_value(decision, P, predicted, label, member) for member in (True, False))
    return explained("expected", threshold, *values)


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
    if decision.metric == "subset_accuracy":
        return float(np.where(labels, P, 1 - P).prod())
    if not labels.any():
        return float(np.prod(1 - P))
    return float(2 * P[labels].sum() / (labels.sum() + P.sum()))


def _set_values(decision: Decision, P: NDArray[np.float64], label: int) -> tuple[float, float]:
    """The probability of the most probable label set with the label, and of that without it."""
    assert decision.label_sets is not None
    independent = replace(decision, label_weight=None, label_sets=None).decide(P[None])[0]
    sets, probabilities = decision.label_sets.set_probabilities(P, independent)
    member = sets[:, label]
    return float(probabilities[member].max(initial=0)), float(probabilities[~member].max(initial=0))


def _format_value(value: float) -> str:
    return f"{value:.3g}" if value >= 0.001 or value == 0 else "less than 0.001"


def format_probability(p: float) -> str:
    """Two decimals, and one digit of what would be 0.00."""
    return f"{p:.2f}" if p >= 0.005 or p == 0 else f"{p:.1g}"
