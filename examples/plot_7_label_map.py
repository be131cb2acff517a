"""
What labels have in common
==========================

Every label has a subspace, and the angles between subspaces say which labels look alike to the model: those that it
will mix up, and those whose contributions cannot be told apart.
"""

from sdgs import SDGSClassifier, label_angles
from sdgs.datasets import make_composite_digits
from sdgs.displays import AngleMapDisplay, CooccurrenceDisplay

train = make_composite_digits(2000, max_labels=2, subset="train", random_state=0)
model = SDGSClassifier(random_state=0).fit(train.X, train.Y)

# %%
# How much of the subspace of the digit at the left lies in that of the digit below:
AngleMapDisplay.from_estimator(model)

# %%
# The same as a tree. The nearer to their names digits join, the more they have in common.
AngleMapDisplay.from_estimator(model, kind="tree")

# %%
# In numbers, the pairs with most in common, and the cosines of the principal angles between them:
import numpy as np

angles = label_angles(model)
i, j = np.triu_indices(10, 1)
for pair in np.argsort(-angles.overlap[i, j])[:3]:
    a, b = i[pair], j[pair]
    print(f"{a} and {b}: overlap {angles.overlap[a, b]:.2f}, cosines {angles.cosines(a, b).round(2)}")

# %%
# That labels look alike is not that they come together. These were drawn at random, so no pair stands out:
CooccurrenceDisplay.from_predictions(train.Y)
