"""
Parameters found by cross-validation
====================================

``SDGSClassifierCV`` walks along one parameter after the other from the defaults, as far as that helps, within a budget
of single fits. Nobody says here that samples are corrupted: it finds out.
"""

import pandas as pd

from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_composite_digits
from sdgs.metrics import f1

train = make_composite_digits(500, max_labels=2, spikes=0.05, subset="train", random_state=0)
test = make_composite_digits(500, max_labels=2, spikes=0.05, subset="test", random_state=1)
model = SDGSClassifierCV(budget=15, random_state=0).fit(train.X, train.Y)

# %%
# Each line is a setting that was tried, on samples that were left out. The best few are averaged, as far as the
# budget allows.
results = pd.DataFrame(model.cv_results_)
table = pd.json_normalize(results["params"]).join(results[["score", "averaged"]])
table.round(4)

# %%
# What was chosen, and what it is worth on samples that had no say in it:
simple = SDGSClassifier(random_state=0).fit(train.X, train.Y)
print(model.best_params_)
print(f"F1 {f1(test.Y, model.predict(test.X)):.3f}")
print(f"with the defaults {f1(test.Y, simple.predict(test.X)):.3f}")

# %%
# The scores as a picture: what each step of the walk gained.
import matplotlib.pyplot as plt

defaults, *others = results["params"]
changes = ["defaults"]
for setting in others:
    different = [name for name in setting if setting[name] != defaults[name]]
    changes.append(", ".join(f"{name}={setting[name]}" for name in different))
figure, ax = plt.subplots(figsize=(7, 0.35 * len(changes) + 0.8), layout="constrained")
colours = ["C0" if used else "C7" for used in results["averaged"]]
ax.barh(changes, results["score"], color=colours)
ax.invert_yaxis()
ax.set(xlim=(results["score"].min() - 0.02, results["score"].max() + 0.01), xlabel="F1 in cross-validation")
ax.set_title("settings, by what differs from the defaults; blue ones are averaged", loc="left", size=9)
ax.spines[["top", "right"]].set_visible(False)
