"""A view of the samples, and how labels are read from it: what a fitted model has one or a few of."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sdgs._utils._array_api import namespace
from sdgs.readout._features import ReadoutFeatures
from sdgs.readout._ridge import Ridge
from sdgs.readout._scaling import Scaling


@dataclass(frozen=True, eq=False)
class FittedPipeline:
    """A view of the samples, and how labels are read from it; None the paper's way."""

    scaling: Scaling
    view: ReadoutFeatures
    ridge: Ridge | None

    def scores(self, X: Any, n_jobs: int | None) -> Any:
        """Near 1 where a label is likely, near 0 where not."""
        assert self.ridge is not None
        width = self.ridge.coef.shape[1]
        found = [
            self.ridge.scores(parts)
            for block, norms in self.scaled_blocks(X)
            for parts in self.view.blocks(block, n_jobs, norms, width)
        ]
        return namespace(found[0]).concat(found)

    def scaled_blocks(self, X: Any) -> Iterator[tuple[Any, Any]]:
        """Samples scaled, and the norms that they had, some rows after the other: nothing is as large as X."""
        step = self.view.block_rows(X)
        for start in range(0, X.shape[0], step):
            yield self.scaling(X[start : min(start + step, X.shape[0]), :])
