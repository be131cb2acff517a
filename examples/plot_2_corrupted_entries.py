"""
Predict from corrupted data
===========================

Some pixels are corrupted, and the model does not know which. With ``huber`` a sample has a sparse residual of its own:
the influence of a single entry is bounded, and the model says which entries look corrupted.
"""

import matplotlib.pyplot as plt

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.methods import BinaryRelevance
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
# This is one seed with default parameters; :doc:`/results` compares tuned methods.
#
# A sample of the last test set, with 10 % of its pixels corrupted. A cross marks pixels that look corrupted to the
# model.
robust = methods["SDGS with huber=0.05"][0]
explanation = robust.explain(test.X)
sample = explanation[6]
sample.plot(shape=test.image_shape)

# %%
print(sample.text(unit="pixels"))

# %%
# How often is this right, over all samples?
import numpy as np

detected = np.zeros(test.X.shape, dtype=bool)
for row, sample in zip(detected, explanation, strict=True):
    row[sample.corrupted] = True
corrupted = test.spikes != 0
print(f"recall: {(detected & corrupted).sum() / corrupted.sum():.0%} of the corrupted pixels are detected")
print(f"precision: {(detected & corrupted).sum() / detected.sum():.0%} of the detected pixels are corrupted")

# %%
# ``transform`` returns samples with these entries corrected, for any other estimator.
cleaned = robust.transform(test.X)
truth = test.parts.sum(axis=1)
for name, X in (("raw", test.X), ("cleaned", cleaned)):
    print(f"{name}: relative error {np.linalg.norm(X - truth) / np.linalg.norm(truth):.0%}")
