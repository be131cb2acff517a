"""
Combine with other scikit-learn estimators
==========================================

``SDGSClassifier`` works with scikit-learn's cross-validation, grid search and pipelines: as the last step, or as a step
that cleans samples for another estimator.
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
# Sums of digits with corrupted pixels: three estimators, and two of them on samples cleaned by ``transform``, which
# returns samples in their original units.
data = make_composite_digits(900, max_labels=2, spikes=0.05, random_state=0)
cleaner = SDGSClassifier(huber=0.05, readout="norm", random_state=0)  # fast: used for its transform only
forest = RandomForestClassifier(50, random_state=0)
linear = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression()))
estimators = {
    "SDGS": SDGSClassifier(huber=0.05, random_state=0),
    "logistic regression": linear,
    "SDGS transform, then logistic regression": make_pipeline(cleaner, linear),
    "random forest": forest,
    "SDGS transform, then random forest": make_pipeline(cleaner, forest),
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
# Logistic regression and the forest use a threshold of 0.5, which lowers their F1, and are not tuned. :doc:`/results`
# compares tuned methods.
#
# Grid search, with any metric of scikit-learn or of ``sdgs.metrics``:
search = GridSearchCV(
    SDGSClassifier(random_state=0),
    {"huber": [None, 0.05], "n_components": [2, 4]},
    scoring=make_scorer(f1_score, average="samples"),
    cv=3,
).fit(data.X, data.Y)
columns = ["param_huber", "param_n_components", "mean_test_score", "std_test_score"]
pd.DataFrame(search.cv_results_)[columns].round(3)

# %%
# In a pipeline whose last step is ours, the steps before it name the features. Here they turn a table of support
# tickets into words and categories. ``predict_proba`` returns the names of the labels, because the target has them.
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

import sdgs
from sdgs.datasets import tickets_path

tickets = pd.read_csv(tickets_path(), index_col="ticket")
labels = tickets["tags"].str.get_dummies(";")
features = make_column_transformer(
    (TfidfVectorizer(min_df=2), "message"), (OneHotEncoder(), ["plan", "channel"]), verbose_feature_names_out=False
)
pipeline = make_pipeline(features, SDGSClassifier(random_state=0)).fit(tickets[:300], labels[:300])
new = tickets[300:]
pipeline.predict_proba(new).head().round(2)

# %%
# ``sdgs.explain`` takes the pipeline and the table, and so do the displays.
from sdgs.displays import LabelMetricsDisplay

print(sdgs.explain(pipeline, new[:2]).text(unit="words"))
display = LabelMetricsDisplay.from_estimator(pipeline, new, labels[300:])

# %%
# A model file cannot hold steps that read texts, so ``sdgs.save`` writes the last step, with a warning. The loaded
# model takes transformed samples and knows their names. With the other steps, kept elsewhere, it is the same pipeline.
import tempfile
import warnings
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tickets.sdgs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sdgs.save(pipeline, path)
    loaded = sdgs.load(path)
again = make_pipeline(pipeline[:-1], loaded)
again.predict_proba(new).equals(pipeline.predict_proba(new)), loaded.feature_names_[100:105]
