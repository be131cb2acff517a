"""Decompose samples into a contribution per label, a baseline and a residual.

The model sees a sample x as z = (x - baseline) / unit: centred and weighted. With C the stacked subspaces of the labels
into which x is decomposed::

    b         the least-squares code: min ||z' - b C|| over the observed entries
    z'        z without its corrupted part: the sparse residual s of the sample's code, if the model has ``huber``
    part i    (b_Gi C^i) * unit
    residual  x - baseline - sum of parts; 0 where x is missing

The baseline, the parts and the residual sum to the sample, in which missing entries are replaced by their
reconstruction. Only b is stored, because the parts take (number of labels) times the memory of the samples; they are
computed on access.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs._utils._overflow import too_large_for_model
from sdgs.coding import least_squares_code
from sdgs.explanation._explanation import Explanation
from sdgs.explanation._sample_explanation import Array, SampleExplanation, Terms, normalize, scaled_row


def explain_samples(
    X: Any,
    chosen: NDArray[np.bool_],
    terms: Terms,
    *,
    probabilities: Array | None,
    corruption: csr_array | None,
    names: Sequence[Any],
) -> Explanation:
    """Decompose samples (n, p), dense or CSR and in their own units, into the labels ``chosen`` for each, (n, k).

    ``corruption`` (n, p) is the part of the samples that looks corrupted, in the same units.
    """
    samples = []
    for row, name in enumerate(names):
        labels = np.flatnonzero(chosen[row])
        stored_row, corruption_row = X[[row]], None if corruption is None else corruption[[row]]
        components = [terms.components[i] for i in labels]
        with np.errstate(over="ignore", invalid="ignore"):
            z = scaled_row(stored_row, corruption_row, terms)
            code = least_squares_code(z, components)
            largest = sum(np.abs(b).sum(dtype=np.float64) for b in code) * np.max(terms.unit)  # of any contribution
        if not np.isfinite(largest):
            raise too_large_for_model("contributions overflow")
        direction, norm = normalize(z)
        shares = [b / norm @ (C @ np.nan_to_num(direction)) for b, C in zip(code, components, strict=True)]
        numbers = (None if probabilities is None else probabilities[row, labels], tuple(code), np.array(shares, float))
        samples.append(SampleExplanation(name, labels, *numbers, terms, stored_row, corruption_row))
    return Explanation(tuple(samples), terms)
