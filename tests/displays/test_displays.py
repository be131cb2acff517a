"""What all displays have in common."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sdgs.displays import (
    AngleMapDisplay,
    ConvergenceDisplay,
    CooccurrenceDisplay,
    LabelMetricsDisplay,
    LabelSubspacesDisplay,
    SampleDecompositionDisplay,
    ThresholdCurveDisplay,
    signed_colormap,
)


def test_given_axes_are_used(standardized):
    model, X, Y = standardized
    figure, axes = plt.subplots(2, 4, layout="constrained")
    open_figures = plt.get_fignums()
    displays = [
        SampleDecompositionDisplay.from_estimator(model, X, sample=2, ax=axes.flat[0]),
        LabelSubspacesDisplay.from_estimator(model, ax=axes.flat[1]),
        AngleMapDisplay.from_estimator(model, ax=axes.flat[2]),
        AngleMapDisplay.from_estimator(model, kind="tree", ax=axes.flat[3]),
        ConvergenceDisplay.from_estimator(model, ax=axes.flat[4], color="black"),
        LabelMetricsDisplay.from_estimator(model, X, Y, ax=axes.flat[5]),
        ThresholdCurveDisplay.from_estimator(model, X, Y, n_thresholds=5, ax=axes.flat[6]),
        CooccurrenceDisplay.from_estimator(model, X, ax=axes.flat[7]),
    ]
    for display, ax in zip(displays, axes.flat, strict=True):
        assert display.ax_ is ax
        assert display.figure_ is figure
    assert displays[4].ax_.lines[0].get_color() == "black"
    assert plt.get_fignums() == open_figures


def test_matplotlib_is_needed_only_to_draw(standardized, monkeypatch):
    code = "import sys, sdgs.displays; print('matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
    model, X, _ = standardized
    explanation = model.explain(X[:1])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (explanation.plot, lambda: ConvergenceDisplay.from_estimator(model)):
        with pytest.raises(ImportError, match=r"Displays need matplotlib to draw: pip install 'sdgs\[plot\]'"):
            draw()


def test_the_signed_colormap_is_white_at_zero_and_differs_in_grey_by_sign():
    colours = signed_colormap()(np.linspace(0, 1, 5))[:, :3]
    np.testing.assert_allclose(colours[2], 1, atol=0.01)
    grey = colours @ [0.299, 0.587, 0.114]
    assert (np.diff(grey[:3]) > 0).all()
    assert (np.diff(grey[2:]) < 0).all()
    assert grey[4] < grey[0] - 0.2
