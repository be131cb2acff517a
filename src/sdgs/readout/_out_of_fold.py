"""What a fitted model keeps of cross-fitting."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Probabilities of training samples from pipelines that were not fitted to them.

    Attributes
    ----------
    probabilities : ndarray of shape (m, k), float32
        Calibrated.
    rows : ndarray of shape (m,)
        Which training samples these are, ascending.
    """

    probabilities: NDArray[np.float32]
    rows: NDArray[np.intp]
