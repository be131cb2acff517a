"""Displays of models and predictions, with the interface of scikit-learn's displays.

A display is created by ``from_estimator``, or from the data that it shows, and drawn by ``plot(ax=None)``, which sets
``ax_`` and ``figure_`` and returns the display. Only drawing needs matplotlib: ``pip install 'sdgs[plot]'``. The
colours are Okabe and Ito's, which colour-blind readers can distinguish; hatches, markers and dashes repeat the
information.
"""

from sdgs.displays._decomposition_displays import SampleDecompositionDisplay
from sdgs.displays._label_displays import (
    AngleMapDisplay,
    CooccurrenceDisplay,
    LabelInfluenceDisplay,
    LabelSubspacesDisplay,
)
from sdgs.displays._metric_displays import ConvergenceDisplay, LabelMetricsDisplay, ThresholdCurveDisplay
from sdgs.displays._prediction_displays import PredictionReasonsDisplay
from sdgs.displays._style import signed_colormap

__all__ = [
    "AngleMapDisplay",
    "ConvergenceDisplay",
    "CooccurrenceDisplay",
    "LabelInfluenceDisplay",
    "LabelMetricsDisplay",
    "LabelSubspacesDisplay",
    "PredictionReasonsDisplay",
    "SampleDecompositionDisplay",
    "ThresholdCurveDisplay",
    "signed_colormap",
]
