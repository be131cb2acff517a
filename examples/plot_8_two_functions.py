"""
Use decomposition and coding as plain functions
===============================================

``decompose`` decomposes labelled data, ``group_lasso`` codes new samples in the subspaces. Both take arrays and return
a certificate with the result: the error after every sweep, and one duality gap per row.
"""

import matplotlib.pyplot as plt
import numpy as np

from sdgs import decompose, group_lasso
from sdgs.datasets import make_label_subspaces

# %%
# Synthetic data: 8 labels with subspaces of 3 dimensions, two labels per sample, 0.2 % of the entries corrupted.
data = make_label_subspaces(1500, 100, 8, n_components=3, spikes=0.002, random_state=0)
X, Y, X_new, Y_new = data.X[:1000], data.Y[:1000], data.X[1000:], data.Y[1000:]

# %%
# Three solvers: exact SVDs, random projections started from the previous subspace (the default), and new random
# projections in every sweep, as printed in the paper. With the first two the error never increases.
import warnings

from sklearn.exceptions import ConvergenceWarning

settings = {"n_components": 3, "residual_size": 0.002, "random_state": 0}
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for solver, style in (("svd", "o-"), ("brp", "s--"), ("brp-fresh", "^:")):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten sweeps, converged or not
        result = decompose(X, Y, **settings, solver=solver, max_iter=10, tol=0)
    error = result.objective / np.square(X).sum()
    ax.semilogy(range(1, 11), error, style, label=f'solver="{solver}"')
ax.set(xlabel="sweep", ylabel="relative error")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# Cosine of the largest angle between the estimated and the true subspaces (1: identical):
result = decompose(X, Y, **settings, tol=1e-8)
for label, (estimated, true) in enumerate(zip(result.components, data.components, strict=True)):
    print(f"label {label}: {np.linalg.svd(estimated @ true.T, compute_uv=False).min():.6f}")

# %%
# Codes of new samples. The paper predicts a label if the l1 norm of its part of the code is large.
X_new /= np.linalg.norm(X_new, axis=1, keepdims=True)
codes = group_lasso(X_new, result.components, alpha=0.1)
norms = codes.l1_norms()
bins = np.linspace(0, norms.max(), 40)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.hist(norms[Y_new == 0], bins, color="C7", label="labels absent")
ax.hist(norms[Y_new == 1], bins, color="C0", alpha=0.8, label="labels present")
ax.set(xlabel="l1 norm of the label's part of the code", ylabel="pairs of sample and label", yscale="log")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
print(f"rows that converged: {codes.converged.sum()} of {codes.converged.size}")
print(f"largest relative duality gap: {codes.gap.max():.1e}")
