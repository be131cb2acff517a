"""Pictures of models and predictions, in scikit-learn's manner.

Each display is made by ``from_estimator``, or from what it shows, and drawn by ``plot(ax=None)``, which sets ``ax_``
and ``figure_`` and returns the display. matplotlib is needed only to draw: ``pip install 'sdgs[plot]'``. Colours are
Okabe and Ito's, with hatches, markers and dashes beside them, so that nothing is said by colour alone.
"""

from sdgs.displays._decomposition_displays import SampleDecompositionDisplay
from sdgs.displays._label_displays import AngleMapDisplay, CooccurrenceDisplay, LabelSubspacesDisplay
from sdgs.displays._metric_displays import ConvergenceDisplay, LabelMetricsDisplay, ThresholdCurveDisplay

__all__ = [
    "AngleMapDisplay",
    "ConvergenceDisplay",
    "CooccurrenceDisplay",
    "LabelMetricsDisplay",
    "LabelSubspacesDisplay",
    "SampleDecompositionDisplay",
    "ThresholdCurveDisplay",
]
