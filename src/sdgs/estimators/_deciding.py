"""How estimators with a :class:`~sdgs.readout._decision.Decision` predict, from log-odds of labels."""

from typing import Any

import numpy as np

from sdgs._utils._array_api import expit, to_device_of
from sdgs.readout._decision import Decision
from sdgs.readout._label_set_correction import log_odds


class DecidingMixin:
    """Predictions by ``_decision``. An estimator has ``_is_multiclass`` and ``_probabilities(log_odds)`` beside it."""

    _decision: Decision

    def _decide(self: Any, scores: Any) -> Any:
        """The label sets, boolean (n, k)."""
        has_class_weights = self._is_multiclass and self._decision.label_weight is not None
        return self._decision.decide(self._probabilities(scores) if has_class_weights else expit(scores))

    def _class_scores(self: Any, scores: Any) -> Any:
        """The logarithm of the odds of each class times its weight, with probabilities that sum to 1."""
        weight = self._decision.label_weight
        if weight is None:
            return scores  # in the same order
        return log_odds(self._probabilities(scores)) + to_device_of(np.log(weight), scores)
