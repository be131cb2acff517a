"""
Beside other scikit-learn estimators
====================================

``SDGSClassifier`` is an estimator among others: it can be compared, searched, put in a pipeline, and used as a step
that cleans samples before another estimator.
"""

import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.metrics import f1

# %%
# Sums of digits with corrupted pixels. Three estimators, and two of them after SDGS has cleaned the samples: its
# ``transform`` gives samples in the units in which they came.
data = make_composite_digits(900, max_labels=2, spikes=0.05, random_state=0)
cleaner = SDGSClassifier(huber=0.05, readout="norm", random_state=0)  # quick: it is not to predict
forest = RandomForestClassifier(50, random_state=0)
linear = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression()))
estimators = {
    "SDGS": SDGSClassifier(huber=0.05, random_state=0),
    "logistic regression": linear,
    "SDGS's transform, then logistic regression": make_pipeline(cleaner, linear),
    "random forest": forest,
    "SDGS's transform, then random forest": make_pipeline(cleaner, forest),
}
scores = {
    name: cross_validate(estimator, data.X, data.Y, cv=3, scoring=make_scorer(f1))["test_score"]
    for name, estimator in estimators.items()
}
table = pd.DataFrame(scores).agg(["mean", "std"]).T
table.round(3)

# %%
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.barh(table.index, table["mean"], xerr=table["std"], color=["C0", "C7", "C0", "C7", "C0"])
ax.invert_yaxis()
ax.set(xlabel="F1 in cross-validation", xlim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)

# %%
# Logistic regression and the forest predict what has a probability of one half, which costs them F1; and they are not
# tuned. :doc:`/beyond` compares methods at their best.
#
# A grid search, by any measure of scikit-learn or of ``sdgs.metrics``:
search = GridSearchCV(
    SDGSClassifier(random_state=0),
    {"huber": [None, 0.05], "n_components": [2, 4]},
    scoring=make_scorer(f1_score, average="samples"),
    cv=3,
).fit(data.X, data.Y)
columns = ["param_huber", "param_n_components", "mean_test_score", "std_test_score"]
pd.DataFrame(search.cv_results_)[columns].round(3)
