"""
Which method for my data?
=========================

:func:`sdgs.compare` evaluates several methods on the same splits, with the same scaling and the same decisions, and
tests which of them are distinguishable.
"""

import matplotlib.pyplot as plt

import sdgs
from sdgs.comparison import rank_methods
from sdgs.datasets import make_composite_digits, make_label_subspaces

# %%
# Sums of digits. By default more methods are compared; these take a few seconds.
digits = make_composite_digits(300, max_labels=2, random_state=0)
methods = ["sdgs", "logistic", "mlknn", "label-powerset"]
result = sdgs.compare(digits.X, digits.Y, methods=methods, cv=3, n_repeats=2, random_state=0)
print(result)

# %%
# The summary has means, intervals and p-values. The intervals account for the overlap of training samples.
rows = result.summary()[::-1]
figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
for i, row in enumerate(rows):
    color = "tab:gray" if row.distinguishable else "tab:green"
    axes.plot([row.low, row.high], [i, i], color=color)
    axes.plot(row.mean, i, "o", color=color)
axes.set_yticks(range(len(rows)), [row.title for row in rows])
axes.set_xlabel("F1, with 95 % interval. Green: the best, and what is not distinguishable from it")

# %%
# The best method, fitted to all samples:
model = result.best_estimator().fit(digits.X, digits.Y)
model

# %%
# All measures as a DataFrame:
frame = result.to_frame().set_index("title")
frame[[name for name in frame if name.startswith("mean_")]].T.round(3)

# %%
# Over several data sets methods are compared by their ranks. Two data sets are far too few for a conclusion, and the
# result says so.
data = make_label_subspaces(300, 20, 6, n_components=3, noise=0.5, random_state=0)
other = sdgs.compare(data.X, data.Y, methods=methods, cv=3, n_repeats=2, random_state=0)
print(rank_methods({"digits": result, "subspaces": other}))
