"""Synthetic data whose decomposition is known and returned."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

from sdgs._utils._validation import check_choice, check_int, check_number


@dataclass(frozen=True, eq=False)
class CompositeDigits:
    """Sums of digit images: ``X = parts.sum(axis=1) + spikes``.

    Attributes
    ----------
    X : ndarray of shape (n, 64)
        Samples, flattened 8 x 8 images.
    Y : ndarray of shape (n, 10)
        Labels, 0 or 1: the digits that were added.
    parts : ndarray of shape (n, 10, 64)
        The image of each digit that was added; zero for other digits.
    spikes : ndarray of shape (n, 64)
        The values added to corrupted pixels; zero elsewhere.
    image_shape : tuple
        (8, 8).
    """

    X: NDArray[np.float64]
    Y: NDArray[np.int64]
    parts: NDArray[np.float64]
    spikes: NDArray[np.float64]
    image_shape: tuple[int, int] = (8, 8)


@dataclass(frozen=True, eq=False)
class LabelSubspaces:
    """A planted decomposition: ``X = sum_i coefficients[i] @ components[i] + residual + noise``.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    Y : ndarray of shape (n, k)
    components : tuple of k ndarrays of shape (r, p), orthonormal rows
    coefficients : tuple of k ndarrays of shape (samples of label i, r)
    residual : csr_array of shape (n, p)
        The planted spikes.
    """

    X: NDArray[np.float64]
    Y: NDArray[np.int64]
    components: tuple[NDArray[np.float64], ...]
    coefficients: tuple[NDArray[np.float64], ...]
    residual: csr_array


def make_composite_digits(
    n_samples: int = 1000,
    *,
    max_labels: int = 3,
    spikes: float = 0.0,
    subset: Literal["all", "train", "test"] = "all",
    random_state: Any = None,
) -> CompositeDigits:
    """Make sums of 1 to ``max_labels`` 8 x 8 images of different digits, from scikit-learn's bundled data.

    The additive model holds for these data, every part is an image, and nothing is downloaded.

    Parameters
    ----------
    n_samples : int, default=1000
    max_labels : int, default=3
        Each sample is the sum of 1 to ``max_labels`` images; all numbers are equally likely.
    spikes : float, default=0.0
        Share of corrupted pixels, to which the largest pixel value, 16, is added or from which it is subtracted.
    subset : {"all", "train", "test"}, default="all"
        The images to draw from, of 1797. "train" (two thirds) and "test" (one third) have no image in common.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    CompositeDigits
    """
    n_samples = check_int(n_samples, "n_samples", minimum=1)
    max_labels = check_int(max_labels, "max_labels", minimum=1)
    if max_labels > 10:
        raise ValueError(f"max_labels must be at most 10, the number of digits; got {max_labels}.")
    spikes = _check_share(spikes, "spikes")
    check_choice(subset, "subset", ("all", "train", "test"))
    rng = check_random_state(random_state)

    images, digits = load_digits(return_X_y=True)
    held_out = np.arange(len(digits)) % 3 == 2
    in_subset = {"all": np.ones_like(held_out), "train": ~held_out, "test": held_out}[subset]
    pools = [np.flatnonzero(in_subset & (digits == digit)) for digit in range(10)]

    parts = np.zeros((n_samples, 10, images.shape[1]))
    Y = np.zeros((n_samples, 10), dtype=np.int64)
    for i, n_digits in enumerate(rng.randint(1, max_labels + 1, size=n_samples)):
        for digit in rng.permutation(10)[:n_digits]:
            parts[i, digit] = images[rng.choice(pools[digit])]
            Y[i, digit] = 1
    corrupted = rng.uniform(size=(n_samples, images.shape[1])) < spikes
    added = np.where(corrupted, rng.choice([-16.0, 16.0], size=corrupted.shape), 0.0)
    return CompositeDigits(X=parts.sum(axis=1) + added, Y=Y, parts=parts, spikes=added)


def make_label_subspaces(
    n_samples: int = 500,
    n_features: int = 100,
    n_labels: int = 10,
    *,
    n_components: int = 3,
    labels_per_sample: int = 2,
    spikes: float = 0.0,
    noise: float = 0.0,
    random_state: Any = None,
) -> LabelSubspaces:
    """Make samples from the model: one random subspace per label, plus a sparse residual and noise.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        n, p and k.
    n_components : int, default=3
        r, the dimension of the subspace of each label.
    labels_per_sample : int, default=2
        Number of labels per sample, drawn at random.
    spikes : float, default=0.0
        Share of entries with a spike of random sign, 5 to 10 times the root mean square of the clean data.
    noise : float, default=0.0
        Standard deviation of Gaussian noise, relative to the root mean square of the clean data.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    LabelSubspaces
    """
    n = check_int(n_samples, "n_samples", minimum=1)
    p = check_int(n_features, "n_features", minimum=1)
    k = check_int(n_labels, "n_labels", minimum=1)
    r = check_int(n_components, "n_components", minimum=1)
    m = check_int(labels_per_sample, "labels_per_sample", minimum=0)
    spikes, noise = _check_share(spikes, "spikes"), check_number(noise, "noise")
    if r > p or m > k:
        raise ValueError(
            f"n_components ({r}) must be at most n_features ({p}), and labels_per_sample ({m}) at most n_labels ({k})."
        )
    rng = check_random_state(random_state)

    components = tuple(np.linalg.qr(rng.standard_normal((p, r)))[0].T for _ in range(k))
    Y = np.zeros((n, k), dtype=np.int64)
    for row in Y:
        row[rng.permutation(k)[:m]] = 1
    X = np.zeros((n, p))
    coefficients = []
    for i in range(k):
        rows = np.flatnonzero(Y[:, i])
        coefficients.append(rng.standard_normal((rows.size, r)))
        X[rows] += coefficients[i] @ components[i]
    scale = float(np.sqrt(np.mean(X**2)))
    is_spike = rng.uniform(size=(n, p)) < spikes
    size = scale * rng.uniform(5, 10, size=(n, p)) * rng.choice([-1, 1], size=(n, p))
    residual = csr_array(np.where(is_spike, size, 0.0))
    X += residual.toarray() + noise * scale * rng.standard_normal((n, p))
    return LabelSubspaces(X, Y, components, tuple(coefficients), residual)


def _check_share(value: Any, name: str) -> float:
    share = check_number(value, name)
    if share > 1:
        raise ValueError(f"{name} must be a share of the entries in [0, 1], got {value!r}.")
    return share
