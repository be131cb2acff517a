"""What a fitted model keeps of cross-fitting."""

from dataclasses import dataclass, field
from typing import Any

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
    unobserved : ndarray of shape (q,)
        The unobserved labels of these samples: the entries of a matrix (m, k), numbered row by row, ascending.
    """

    probabilities: NDArray[np.float32]
    rows: NDArray[np.intp]
    unobserved: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def hide_unobserved(self, labels: NDArray[np.bool_]) -> NDArray[Any]:
        """Labels of these samples, with NaN where they are unobserved; the same if none is."""
        if not self.unobserved.size:
            return labels
        values = labels.astype(np.float64)
        values.flat[self.unobserved] = np.nan
        return values
