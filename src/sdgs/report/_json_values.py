"""Numbers, images and names of features as JSON values: rounded, in steps, and stored once."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.report._packed_labels import encode_base64


class FeatureNames:
    """The names of the features that the page shows, in the order of their first use."""

    def __init__(self) -> None:
        self._positions: dict[int, int] = {}
        self.names: list[str] = []

    def position(self, feature: int, name: Any) -> int:
        """The position of a feature in ``names``, to which it is added on first use."""
        if feature not in self._positions:
            self._positions[feature] = len(self.names)
            self.names.append(str(name))
        return self._positions[feature]


def rounded(values: Any, digits: int = 3) -> list[float | None]:
    """Values with this number of significant digits; None for NaN and infinity, which JSON does not have."""
    floats = np.asarray(values, dtype=np.float64).tolist()  # several times faster to format than NumPy's
    return [float(f"{value:.{digits}g}") if isfinite(value) else None for value in floats]


def encode_images(images: Sequence[NDArray[Any]]) -> dict[str, Any]:
    """Images in steps of 1 / 127 of the largest entry of all; -128 where an entry is missing."""
    values = np.vstack(images).astype(np.float64)
    limit = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    steps = np.where(np.isnan(values), -128, np.round(127 * np.nan_to_num(values) / limit))
    return {"images": encode_base64(steps, "<i1"), "limit": rounded([limit])[0]}
