"""The figure of the demo: images of the contributions and of the truth."""

import numpy as np
import pytest

from sdgs.displays._image_decompositions import plot_image_decompositions


@pytest.mark.parametrize("n_predicted", [0, 1, 3])
def test_contributions_and_residual_sum_to_the_sample(n_predicted):
    rng = np.random.default_rng(0)
    contributions, true_parts = rng.standard_normal((2, 2, 4, 6))
    samples = rng.standard_normal((2, 6))
    predicted, truth = np.zeros((2, 4), dtype=int), np.array([[1, 1, 0, 0], [0, 0, 0, 1]])
    predicted[0, :n_predicted] = 1
    figure = plot_image_decompositions(
        samples, contributions, predicted, truth, true_parts, image_shape=(2, 3), label_names=list("abcd"), title="T"
    )
    images = {axes.get_title(): axes.images[0].get_array().ravel() for axes in figure.axes[: n_predicted + 4]}
    parts = [images[f"{'abc'[i]} {'✓' if truth[0, i] else '✗'}"] for i in range(n_predicted)]
    np.testing.assert_allclose(np.sum([*parts, images["residual"]], axis=0), samples[0])
    for i, name in enumerate("ab"):
        np.testing.assert_array_equal(images[name if i < n_predicted else f"{name} missed"], true_parts[0, i])
    assert figure.axes[-1].get_title() == "d missed"
