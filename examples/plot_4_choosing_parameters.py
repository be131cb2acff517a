"""
Select parameters by cross-validation
=====================================

``SDGSClassifierCV`` starts from the defaults and varies one parameter after the other, as long as the score improves,
within a budget of fits. Here it detects that samples are corrupted.
"""

import pandas as pd

from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_composite_digits
from sdgs.metrics import f1

train = make_composite_digits(500, max_labels=2, spikes=0.05, subset="train", random_state=0)
test = make_composite_digits(500, max_labels=2, spikes=0.05, subset="test", random_state=1)
model = SDGSClassifierCV(budget=15, random_state=0).fit(train.X, train.Y)

# %%
# Each row is a setting with its score in cross-validation. The best few are averaged, as far as the budget allows.
results = pd.DataFrame(model.cv_results_)
table = pd.json_normalize(results["params"]).join(results[["score", "averaged"]])
table.round(4)

# %%
# The selected setting, and its score on test samples:
default = SDGSClassifier(random_state=0).fit(train.X, train.Y)
print(model.best_params_)
print(f"F1 {f1(test.Y, model.predict(test.X)):.3f}")
print(f"with the defaults {f1(test.Y, default.predict(test.X)):.3f}")

# %%
# The score of each setting:
import matplotlib.pyplot as plt

defaults, *settings = results["params"]
changes = ["defaults"]
for setting in settings:
    different = [name for name in setting if setting[name] != defaults[name]]
    changes.append(", ".join(f"{name}={setting[name]}" for name in different))
figure, ax = plt.subplots(figsize=(7, 0.35 * len(changes) + 0.8), layout="constrained")
colours = ["C0" if used else "C7" for used in results["averaged"]]
ax.barh(changes, results["score"], color=colours)
ax.invert_yaxis()
ax.set(xlim=(results["score"].min() - 0.02, results["score"].max() + 0.01), xlabel="F1 in cross-validation")
ax.set_title("parameters that differ from the defaults; blue settings are averaged", loc="left", size=9)
ax.spines[["top", "right"]].set_visible(False)
