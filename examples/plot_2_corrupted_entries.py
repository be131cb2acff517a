"""
Corrupted entries
=================

Some pixels are far out, and nobody says which. With ``huber`` a sample has a sparse residual of its own, so that an
entry can only do so much harm; and the model says which entries look corrupted.
"""

import matplotlib.pyplot as plt

from sdgs import SDGSClassifier
from sdgs.methods import BinaryRelevance
from sdgs.datasets import make_composite_digits
from sdgs.metrics import f1

shares = [0, 0.02, 0.05, 0.1]
methods = {
    "SDGS with huber=0.05": (SDGSClassifier(huber=0.05, random_state=0), "C0", "o-"),
    "SDGS without": (SDGSClassifier(random_state=0), "C1", "s--"),
    "binary relevance": (BinaryRelevance(random_state=0), "C7", "^:"),
}
scores = {name: [] for name in methods}
for share in shares:
    train = make_composite_digits(800, max_labels=2, spikes=share, subset="train", random_state=0)
    test = make_composite_digits(500, max_labels=2, spikes=share, subset="test", random_state=1)
    for name, (model, *_) in methods.items():
        scores[name].append(f1(test.Y, model.fit(train.X, train.Y).predict(test.X)))

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, (_, colour, style) in methods.items():
    ax.plot([100 * share for share in shares], scores[name], style, color=colour, label=name)
ax.set(xlabel="corrupted entries, in training and test alike (percent)", ylabel="F1", ylim=(0.4, 1))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# One seed, and parameters as they come: what methods do at their best is in :doc:`/beyond`.
#
# A sample of the last test set, a tenth of its pixels corrupted. Those that the model thinks are have a
# cross.
robust = methods["SDGS with huber=0.05"][0]
explanation = robust.explain(test.X)
sample = explanation[6]
sample.plot(shape=test.image_shape)

# %%
print(sample.text(unit="pixels"))

# %%
# How good is that verdict, over all samples?
import numpy as np

found = np.zeros(test.X.shape, dtype=bool)
for row, one in zip(found, explanation, strict=True):
    row[one.corrupted] = True
true = test.spikes != 0
print(f"of the corrupted pixels {(found & true).sum() / true.sum():.0%} are found,")
print(f"of those that are found {(found & true).sum() / found.sum():.0%} are corrupted")

# %%
# ``transform`` gives samples with those entries corrected, for any other estimator.
cleaned = robust.transform(test.X)
truth = test.parts.sum(axis=1)
for name, X in (("raw", test.X), ("cleaned", cleaned)):
    print(f"{name}: off the truth by {np.linalg.norm(X - truth) / np.linalg.norm(truth):.0%}")
