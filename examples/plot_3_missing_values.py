"""
Train and predict with missing values
=====================================

NaN marks an entry that was not observed. Nothing is imputed, in training or in prediction. ``transform`` fills the gaps
with what the labels explain.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.metrics import f1

train = make_composite_digits(1000, max_labels=2, subset="train", random_state=0)
test = make_composite_digits(500, max_labels=2, subset="test", random_state=1)


def with_gaps(X, share, seed):
    """Replace a share of the entries by NaN."""
    missing = np.random.default_rng(seed).uniform(size=X.shape) < share
    return np.where(missing, np.nan, X)


model = SDGSClassifier(random_state=0)
imputed = make_pipeline(SimpleImputer(), SDGSClassifier(random_state=0))  # fills gaps with the mean of the pixel
shares = [0, 0.1, 0.2, 0.4]
scores = {"not imputed": [], "imputed by means": []}
for share in shares:
    X, X_new = with_gaps(train.X, share, 0), with_gaps(test.X, share, 1)
    for name, estimator in zip(scores, (model, imputed), strict=True):
        scores[name].append(f1(test.Y, estimator.fit(X, train.Y).predict(X_new)))

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for (name, values), style in zip(scores.items(), ("o-", "s--"), strict=True):
    ax.plot([100 * share for share in shares], values, style, label=f"gaps {name}")
ax.set(xlabel="missing entries, in training and test alike (percent)", ylabel="F1", ylim=(0.6, 1))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# Four samples with 40 % of their pixels missing (crosses), the gaps filled by the model, and the truth. The model was
# trained on samples with as many gaps.
from sdgs.displays import signed_colormap

chosen = [0, 2, 4, 5]
gaps, repaired = X_new[chosen], model.transform(X_new[chosen])
rows = {"with gaps": gaps, "filled in": repaired, "truth": test.X[chosen]}
figure, axes = plt.subplots(3, len(chosen), figsize=(6.4, 5), layout="constrained")
for line, (name, images) in zip(axes, rows.items(), strict=True):
    line[0].set_ylabel(name)
    for ax, image in zip(line, images, strict=True):
        ax.imshow(image.reshape(test.image_shape), cmap=signed_colormap(), vmin=-24, vmax=24)
        y, x = np.isnan(image.reshape(test.image_shape)).nonzero()
        ax.scatter(x, y, marker="x", s=12, color="#9ca3af", linewidth=0.8)
        ax.set(xticks=[], yticks=[])
