"""
From probabilities to labels
============================

Which labels should be predicted, given their probabilities? That depends on what you are measured by. The default
takes for each sample the set with the best expected F1; there is no threshold.
"""

import pandas as pd

from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.displays import LabelMetricsDisplay, ThresholdCurveDisplay
from sdgs.metrics import evaluate

# %%
# Samples that are hard to tell apart: much noise, and labels whose subspaces overlap.
data = make_label_subspaces(1500, 20, 8, n_components=3, labels_per_sample=2, noise=1.0, random_state=0)
X, Y, X_new, Y_new = data.X[:1000], data.Y[:1000], data.X[1000:], data.Y[1000:]
model = SDGSClassifier(3, random_state=0).fit(X, Y)

# %%
# One threshold for all labels, and the five measures as it moves:
ThresholdCurveDisplay.from_estimator(model, X_new, Y_new)

# %%
# The ways to decide, each tuned on training samples alone. ``decision=2`` gives every sample its two most probable
# labels, which is cheating a little: here every sample has two.
ways = {
    "expected F1 (default)": {},
    "expected accuracy": {"metric": "accuracy"},
    "expected Hamming loss": {"metric": "hamming_loss"},
    "one threshold": {"decision": "threshold"},
    "a threshold a label": {"decision": "thresholds"},
    "as many labels as in training": {"decision": "share"},
    "threshold 0.5": {"decision": 0.5},
    "two labels a sample": {"decision": 2},
}
measured = {
    name: evaluate(Y_new, SDGSClassifier(3, random_state=0, **way).fit(X, Y).predict(X_new))
    for name, way in ways.items()
}
pd.DataFrame(measured).T.round(3)

# %%
# Each label by itself:
LabelMetricsDisplay.from_estimator(model, X_new, Y_new)
