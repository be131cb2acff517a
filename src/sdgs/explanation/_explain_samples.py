"""Samples taken apart into what each label contributes, a baseline and a residual.

A sample x in its own units is z = (x - baseline) / unit where the model looks at it, columns weighted. With C the
subspaces of the labels that it is taken apart into, stacked::

    b         the least-squares code: min ||z' - b C|| over the observed entries
    z'        z less what looks corrupted: the sparse residual s of the sample's code, if the model has ``huber``
    part i    (b_Gi C^i) * unit
    residual  x - baseline - sum of parts; 0 where x is missing

so that baseline + parts + residual is the sample, with missing entries filled in by what the labels say. Only b is
kept: parts are as large as the samples times their labels, and are made when they are asked for.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs.coding import least_squares_code
from sdgs.explanation._explanation import Array, Explanation, SampleExplanation, Terms, cleaned_row, direction


def explain_samples(
    X: Any,
    chosen: NDArray[np.bool_],
    terms: Terms,
    *,
    probabilities: Array | None,
    corruption: csr_array | None,
    names: Sequence[Any],
) -> Explanation:
    """Take samples (n, p), dense or CSR and in their own units, apart into the labels chosen for each, (n, k).

    ``corruption`` (n, p) is what looks corrupted, in the same units.
    """
    samples = []
    for row, name in enumerate(names):
        mine = np.flatnonzero(chosen[row])
        stored, wrong = X[[row]], None if corruption is None else corruption[[row]]
        z = cleaned_row(stored, wrong, terms)
        components = [terms.components[i] for i in mine]
        code = least_squares_code(z, components)
        way, norm = direction(z)
        shares = [b / norm @ (C @ np.nan_to_num(way)) for b, C in zip(code, components, strict=True)]
        samples.append(
            SampleExplanation(
                name,
                mine,
                None if probabilities is None else probabilities[row, mine],
                tuple(code),
                np.asarray(shares, dtype=np.float64),
                terms,
                stored,
                wrong,
            )
        )
    return Explanation(tuple(samples), terms)
