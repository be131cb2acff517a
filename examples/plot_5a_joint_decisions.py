"""
Decide on labels that depend on each other
==========================================

Probabilities of single labels do not say which labels occur together. A classifier chain knows the joint distribution
of all labels, and the best prediction depends on what is measured: predictions with all labels right, single labels,
or F1.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sdgs.methods import ClassifierChains
from sdgs.metrics import f1

# %%
# Photographs of the sea or of mountains. Each scene has three labels of its own, which are present with a probability
# of 85, 85 and 60 %. The features tell the scenes apart in some pictures only; in the others both are possible, but
# never a mixture of both.
names = np.array(["sea", "beach", "boat", "mountain", "snow", "skiing"])


def make_photographs(n, rng):
    is_sea = rng.random(n) < 0.55
    X = rng.standard_normal((n, 5))
    X[:, 0] += np.where(is_sea, 0.7, -0.7)
    possible = np.where(is_sea[:, None], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1])
    present = rng.random((n, 6)) < [0.85, 0.85, 0.6] * 2
    return X, (possible * present).astype(int)


rng = np.random.default_rng(0)
X, Y = make_photographs(2000, rng)
X_new, Y_new = make_photographs(2000, rng)

# %%
# One chain, four decisions. ``decision`` is used in prediction only, so the chain is fitted once.
chain = ClassifierChains(inference="exact").fit(X, Y)
decisions = {
    "greedy": "label after label",
    "marginals": "labels above one half",
    "mode": "most probable set",
    "f1": "best expected F1",
}
predicted = {name: chain.set_params(decision=name).predict(X_new) for name in decisions}
measured = pd.DataFrame(
    {
        decisions[name]: {
            "all labels right": (labels == Y_new).all(axis=1).mean(),
            "single labels right": (labels == Y_new).mean(),
            "F1": f1(Y_new, labels),
        }
        for name, labels in predicted.items()
    }
)
measured.T.round(3)

# %%
# Each decision is best at what it is made for. The reason can be seen in a picture that could be either scene. Here are
# its most probable label sets, as products of the chain's probabilities. Label after label, the chain commits itself to
# a scene with the first label. No single label has a probability above one half, so that single labels are best
# predicted by none at all. For F1 it pays to predict labels of both scenes, which is not a possible label set.
ambiguous = int(np.abs(chain.set_params(decision="marginals").predict_proba(X_new)[:, 0] - 0.48).argmin())
sets = np.array([[int(bit) for bit in f"{number:06b}"] for number in range(64)])
probability = np.ones(64)
for t, link in enumerate(chain.estimators_[0]):
    inputs = np.hstack([np.tile(X_new[ambiguous], (64, 1)), sets[:, :t]])
    probability *= link.predict_proba(inputs)[np.arange(64), sets[:, t]]
best = np.argsort(-probability)[:9]


def text(labels):
    return ", ".join(names[labels == 1]) or "none"


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=[3, 4])
colors = {"greedy": "C7", "marginals": "C2", "mode": "C1", "f1": "C0"}
left.barh([text(sets[s]) for s in best][::-1], probability[best][::-1], color="0.8")
left.set(xlabel="probability", title="Label sets of one picture", xlim=(0, 0.36))
for name, decision in decisions.items():
    labels = predicted[name][ambiguous]
    print(f"{decision}: {text(labels)}")
    for place, s in enumerate(best[::-1]):
        if (sets[s] == labels).all():
            left.text(probability[s] + 0.005, place, decision, color=colors[name], va="center")
bars = measured.loc[["all labels right", "single labels right", "F1"]]
for number, name in enumerate(decisions):
    x = np.arange(3) + 0.2 * (number - 1.5)
    right.bar(x, bars[decisions[name]], 0.18, color=colors[name], label=decisions[name])
    for position, value in zip(x, bars[decisions[name]], strict=True):
        right.text(position, value + 0.01, f"{100 * value:.0f}", ha="center", fontsize=8)
right.set(xticks=range(3), xticklabels=bars.index, ylim=(0, 1), title="2000 new pictures")
right.legend(frameon=False, ncols=2, loc="upper left")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
