"""Draw docs/_static/social-card.png, which other sites show beside a link to the documentation."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
PIXELS_PER_INCH = 100

figure = plt.figure(figsize=(12, 6.3), dpi=PIXELS_PER_INCH, facecolor="white")
figure.text(0.05, 0.8, "sdgs", size=64, weight="bold", color="#14304f")
figure.text(
    0.05,
    0.62,
    "Multi-label classification\nthat shows what each\nlabel contributes",
    size=27,
    color="#14304f",
    va="top",
)
figure.text(0.05, 0.1, "A scikit-learn estimator, a command line\nand two plain functions", size=16, color="#555555")
axes = figure.add_axes((0.47, 0.05, 0.5, 0.9))
axes.imshow(plt.imread(DOCS / "images" / "composite-digits.png"))
axes.axis("off")
figure.savefig(DOCS / "_static" / "social-card.png", metadata={"Software": None})
