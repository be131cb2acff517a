"""How a model file holds cross-fitted classifiers, their average and the decision."""

import numpy as np

from sdgs._utils._last_step import number_of_features
from sdgs.estimators._label_scores import LabelScorer
from sdgs.persistence.codecs._learner_table import n_scores
from sdgs.persistence.codecs._stored_fields import (
    INTEGER,
    ArrayField,
    ChoiceField,
    EitherField,
    EstimatorField,
    FlagField,
    ListField,
    NumberOrField,
    OptionalField,
    RecordField,
)
from sdgs.readout._calibrated_average import CalibratedAverage
from sdgs.readout._calibration import Calibration
from sdgs.readout._decision import TARGET_METRICS, Decision
from sdgs.readout._label_set_correction import LabelSetCorrection

_ROUNDED_UP = 1 + 1e-9  # sums of weights are rounded

SCORER_FIELD = RecordField(
    LabelScorer,
    {
        "estimator": OptionalField(EstimatorField()),
        "learnt": ArrayField("i", ("learnt",), below="k", ascending=True),
        "counts": ArrayField("fi", ("k",), low=0),
        "n": NumberOrField(ArrayField("f", ("k",), low=0)),
        "shrink": FlagField(),
    },
)
_CALIBRATION = RecordField(Calibration, {"slope": ArrayField("f", ("k",)), "offset": ArrayField("f", ("k",))})
AVERAGE_FIELD = RecordField(
    CalibratedAverage,
    {
        "calibrations": ListField(_CALIBRATION, type=tuple),
        "weights": ArrayField("f", (None,), low=0),
        "last": _CALIBRATION,
    },
)
_LABEL_SETS = RecordField(
    LabelSetCorrection,
    {"sets": ArrayField("b", ("sets", "k")), "log_ratios": ArrayField("f", (None,))},
)
DECISION_FIELD = RecordField(
    Decision,
    {
        "metric": ChoiceField(TARGET_METRICS),
        "at_least_one": FlagField(),
        "thresholds": OptionalField(EitherField((ArrayField("f", ("k",)), ArrayField("f", ())))),
        "top": OptionalField(INTEGER),
    },
    optional={"label_weight": ArrayField("f", ("k",), positive=True), "label_sets": _LABEL_SETS},
)


def check_scorer(scorer: LabelScorer, n_features: int) -> None:
    """Raise an error if the counts, features or labels of a classifier from a file contradict each other."""
    if np.any(scorer.counts > np.multiply(scorer.n, _ROUNDED_UP)):
        raise ValueError("a classifier in it has labels with more samples than there are.")
    if scorer.estimator is None:
        return
    number = n_scores(scorer.estimator)
    if number != scorer.learnt.size and (number, scorer.learnt.size) != (2, 1):
        raise ValueError(f"a classifier in it has scores for {number} labels in place of {scorer.learnt.size}.")
    if number_of_features(scorer.estimator) != n_features:
        raise ValueError(f"a classifier in it is not one of {n_features} features.")
