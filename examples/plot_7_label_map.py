"""
Measure the overlap of labels
=============================

Every label has a subspace. The angles between subspaces show which labels are similar to the model: those that it
confuses, and those whose contributions it cannot separate.
"""

from sdgs import SDGSClassifier, label_angles
from sdgs.datasets import make_composite_digits
from sdgs.displays import AngleMapDisplay, CooccurrenceDisplay

train = make_composite_digits(2000, max_labels=2, subset="train", random_state=0)
model = SDGSClassifier(random_state=0).fit(train.X, train.Y)

# %%
# The share of the subspace of the row's digit that lies in the subspace of the column's digit:
AngleMapDisplay.from_estimator(model)

# %%
# The same as a tree: digits that join close to their names overlap most.
AngleMapDisplay.from_estimator(model, kind="tree")

# %%
# The pairs with the largest overlap, and the cosines of their principal angles:
import numpy as np

angles = label_angles(model)
i, j = np.triu_indices(10, 1)
for pair in np.argsort(-angles.overlap[i, j])[:3]:
    a, b = i[pair], j[pair]
    print(f"{a} and {b}: overlap {angles.overlap[a, b]:.2f}, cosines {angles.cosines(a, b).round(2)}")

# %%
# Overlap is not co-occurrence: these labels were drawn at random, so no pair stands out.
CooccurrenceDisplay.from_predictions(train.Y)
