"""What tests of regressions share."""

import numpy as np

from sdgs.readout._ridge import regression


def dense(parts):
    """Matrices that are side by side as one."""
    return np.hstack([part.toarray() if hasattr(part, "toarray") else part for part in parts])


def ridge_path(blocks, Y, penalties, widths, weighed=None, kernels=None):
    """For every penalty, for every number of leading columns."""
    learnt = regression(blocks, Y, widths, weighed, kernels)
    for penalty in penalties:
        yield from learnt.ridges(penalty, widths)
