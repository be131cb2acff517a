"""
The two stages as plain functions
=================================

``decompose`` takes labelled data apart, ``group_lasso`` codes new samples over the subspaces. Both work on arrays,
know nothing of estimators, and return a certificate with the result: the error of every sweep, a duality gap a row.
"""

import matplotlib.pyplot as plt
import numpy as np

from sdgs import decompose, group_lasso
from sdgs.datasets import make_label_subspaces

# %%
# A planted problem: 8 labels with a subspace of 3 dimensions each, two labels a sample, and one entry in 500 with a
# spike.
data = make_label_subspaces(1500, 100, 8, n_components=3, spikes=0.002, random_state=0)
X, Y, X_new, Y_new = data.X[:1000], data.Y[:1000], data.X[1000:], data.Y[1000:]

# %%
# Training by exact SVDs, by random projections started from the last subspace (the default), and by fresh ones in every
# sweep, as the paper's algorithm is printed. The first two never let the error rise.
import warnings

from sklearn.exceptions import ConvergenceWarning

settings = {"n_components": 3, "residual_size": 0.002, "random_state": 0}
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for solver, style in (("svd", "o-"), ("brp", "s--"), ("brp-fresh", "^:")):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten sweeps, whatever comes
        result = decompose(X, Y, **settings, solver=solver, max_iter=10, tol=0)
    error = result.objective / np.square(X).sum()
    ax.semilogy(range(1, 11), error, style, label=f'solver="{solver}"')
ax.set(xlabel="sweep", ylabel="error, as a share of the data")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# Were the planted subspaces found? The cosine of the largest angle to each of them, 1 if it is the same:
result = decompose(X, Y, **settings, tol=1e-8)
for label, (found, planted) in enumerate(zip(result.components, data.components, strict=True)):
    print(f"label {label}: {np.linalg.svd(found @ planted.T, compute_uv=False).min():.6f}")

# %%
# New samples, coded. The l1 norm of a label's part of the code is the paper's evidence for the label.
X_new /= np.linalg.norm(X_new, axis=1, keepdims=True)
codes = group_lasso(X_new, result.components, alpha=0.1)
evidence = codes.l1_norms()
bins = np.linspace(0, evidence.max(), 40)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.hist(evidence[Y_new == 0], bins, color="C7", label="labels that a sample has not")
ax.hist(evidence[Y_new == 1], bins, color="C0", alpha=0.8, label="labels that it has")
ax.set(xlabel="l1 norm of the label's part of the code", ylabel="samples times labels", yscale="log")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
print(f"rows that converged: {codes.converged.sum()} of {codes.converged.size}")
print(f"largest relative duality gap: {codes.gap.max():.1e}")
