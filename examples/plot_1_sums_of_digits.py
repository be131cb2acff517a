"""
Decompose sums of digits
========================

Samples are sums of handwritten digits. In training the model knows which digits are in a sum, but not what they look
like alone. It then decomposes sums of images that it has not seen.
"""

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.metrics import evaluate

train = make_composite_digits(2000, max_labels=2, subset="train", random_state=0)
test = make_composite_digits(500, max_labels=2, subset="test", random_state=1)
model = SDGSClassifier(random_state=0).fit(train.X, train.Y)
for name, value in evaluate(test.Y, model.predict(test.X)).items():
    print(f"{name:13} {value:.3f}")

# %%
# A sample and the contribution of each predicted digit: dark is positive, orange negative. Below each name are the
# probability of the label and its share of the sample. Contributions and residual sum to the sample.
explanation = model.explain(test.X[:8])
explanation[4].plot(shape=test.image_shape)

# %%
# The images that were added, for comparison:
import matplotlib.pyplot as plt

from sdgs.displays import signed_colormap

digits = test.Y[4].nonzero()[0]
figure, axes = plt.subplots(1, len(digits), figsize=(1.7 * len(digits), 1.9), layout="constrained")
for ax, digit in zip(axes, digits, strict=True):
    ax.imshow(test.parts[4, digit].reshape(test.image_shape), cmap=signed_colormap(), vmin=-16, vmax=16)
    ax.set(title=f"the {digit} that was added", xticks=[], yticks=[])
    ax.title.set_fontsize(9)

# %%
# The learnt subspaces, one row per label. The contribution of a 0 to a sum is a linear combination of the images in
# the first row, and so on.
from sdgs.displays import LabelSubspacesDisplay

LabelSubspacesDisplay.from_estimator(model, shape=test.image_shape, labels=[0, 1, 2, 3, 4])
