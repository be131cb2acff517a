"""
What labels share, and what is particular to each
=================================================

:class:`~sdgs.methods.SparseLowRank` regresses labels on features with coefficients that are the sum of two parts. The
low-rank part has what labels have in common, the sparse part a few features of single labels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sdgs.displays import signed_colormap
from sdgs.methods import SparseLowRank
from sdgs.metrics import evaluate

# %%
# Twelve labels and sixty features. Labels 0 to 5 depend on the first ten features, all of them in the same way; labels
# 6 to 11 on the next ten. Each label also has one strong feature of its own, among the last forty.
rng = np.random.default_rng(0)
shared = np.zeros((12, 60))
shared[:6, :10] = 0.4 * rng.choice([-1, 1], 10)
shared[6:, 10:20] = 0.4 * rng.choice([-1, 1], 10)
particular = np.zeros((12, 60))
particular[np.arange(12), 20 + 3 * np.arange(12)] = 2.0


def make_samples(n):
    X = rng.standard_normal((n, 60))
    return X, (X @ (shared + particular).T + rng.standard_normal((n, 12)) > 1).astype(int)


X, Y = make_samples(500)
X_new, Y_new = make_samples(2000)

# %%
# ``gamma`` penalises the sparse part: the larger, the fewer entries it has. ``tau`` bounds the low-rank part. With
# ``tau=0`` there is only the sparse part, which is the lasso; with a very large ``gamma`` only the low-rank part. Each
# has the value that is best for it. :class:`~sdgs.methods.SparseLowRankCV` would choose them by cross-validation.
models = {
    "both parts": SparseLowRank(gamma=60, tau=1, threshold=0.4),
    "sparse part only": SparseLowRank(gamma=20, tau=0, threshold=0.4),
    "low-rank part only": SparseLowRank(gamma=1e6, tau=4, threshold=0.4),
}
measured = {name: evaluate(Y_new, model.fit(X, Y).predict(X_new)) for name, model in models.items()}
pd.DataFrame(measured).T.round(3)

# %%
# The planted coefficients and those that were found, which are smaller because of the penalties. Each row is a label;
# dark is positive, orange negative.
both = models["both parts"]
figure, axes = plt.subplots(2, 2, figsize=(10, 4.6), layout="constrained", sharex=True, sharey=True)
parts = {
    "planted: shared": shared,
    "planted: particular": particular,
    "found: low_rank_coef_": both.low_rank_coef_,
    "found: sparse_coef_": both.sparse_coef_,
}
for ax, (title, coefficients) in zip(axes.ravel(), parts.items(), strict=True):
    limit = np.abs(coefficients).max()
    ax.imshow(coefficients, cmap=signed_colormap(), vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    ax.set(title=title, yticks=range(0, 12, 3))
for ax in axes[:, 0]:
    ax.set_ylabel("label")
for ax in axes[1]:
    ax.set_xlabel("feature")

# %%
# The duality gap bounds how far the solution is from the best one. The trace norm makes singular values small and few:
# two of them, as many as there are shared patterns, have most of the low-rank part.
print(f"objective {both.objective_:.2f}, at most {both.dual_gap_:.2f} above its minimum")
print(f"entries of the sparse part: {(np.abs(both.sparse_coef_) > 1e-6).sum()} (planted: 12)")
values = np.linalg.svd(both.low_rank_coef_, compute_uv=False)
print("singular values of the low-rank part:", values[:5].round(2))
