"""
From probabilities to labels
============================

Which labels should be predicted, given their probabilities, depends on the metric. By default each sample gets the
label set with the best expected F1, without a threshold.
"""

import pandas as pd

from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.displays import LabelMetricsDisplay, ThresholdCurveDisplay
from sdgs.metrics import evaluate

# %%
# A difficult problem: much noise, and labels whose subspaces overlap.
data = make_label_subspaces(1500, 20, 8, n_components=3, labels_per_sample=2, noise=1.0, random_state=0)
X, Y, X_new, Y_new = data.X[:1000], data.Y[:1000], data.X[1000:], data.Y[1000:]
model = SDGSClassifier(3, random_state=0).fit(X, Y)

# %%
# The five measures against one threshold for all labels:
ThresholdCurveDisplay.from_estimator(model, X_new, Y_new)

# %%
# All decision rules, tuned on training samples. ``decision=2`` predicts the two most probable labels, which uses the
# knowledge that every sample has two.
rules = {
    "expected F1 (default)": {},
    "expected accuracy": {"metric": "accuracy"},
    "expected Hamming loss": {"metric": "hamming_loss"},
    "one threshold": {"decision": "threshold"},
    "one threshold per label": {"decision": "thresholds"},
    "as many labels as in training": {"decision": "share"},
    "threshold 0.5": {"decision": 0.5},
    "two labels per sample": {"decision": 2},
}
measured = {
    name: evaluate(Y_new, SDGSClassifier(3, random_state=0, **rule).fit(X, Y).predict(X_new))
    for name, rule in rules.items()
}
pd.DataFrame(measured).T.round(3)

# %%
# Measures per label:
LabelMetricsDisplay.from_estimator(model, X_new, Y_new)

# %%
# :class:`sdgs.DecisionClassifier` does the same for any other classifier: it calibrates the probabilities and tunes the
# decision. :class:`sdgs.AveragingClassifier` does it for the average of several.
from sklearn.ensemble import ExtraTreesClassifier

from sdgs import AveragingClassifier, DecisionClassifier

trees = ExtraTreesClassifier(random_state=0)
classifiers = {
    "trees": trees,
    "trees, decided": DecisionClassifier(trees, random_state=0),
    "SDGS": model,
    "average of both": AveragingClassifier([SDGSClassifier(3, random_state=0), trees], random_state=0),
}
measured = {name: evaluate(Y_new, classifier.fit(X, Y).predict(X_new)) for name, classifier in classifiers.items()}
pd.DataFrame(measured).T.round(3)
