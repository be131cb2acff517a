"""What tests of regressions share."""

import numpy as np

from sdgs.readout._parameters import DecompositionOptions
from sdgs.readout._ridge import RidgeDesign, prepare_ridge

THREE_ROW_BLOCKS = slice(0, 3), slice(3, 4), slice(4, None)


def dense(blocks):
    """Matrices side by side as one array."""
    return np.hstack([block.toarray() if hasattr(block, "toarray") else block for block in blocks])


def ridge_path(blocks, Y, penalties, widths, weighted_columns=None, landmark_gram=None):
    """One ridge for every penalty and every number of leading columns."""
    regression = prepare_ridge(blocks, Y, RidgeDesign(widths, weighted_columns), landmark_gram)
    for penalty in penalties:
        yield from regression.ridges(penalty, widths)


def options(n_landmarks="auto", tol=1e-2, checkpoint=None):
    """Options of a decomposition, with seed 0."""
    return DecompositionOptions(1e-4, "brp", 100, tol, n_landmarks, 0, None, checkpoint)


def penalty_weights_by_hand(Z, Y):
    """Column by column, label by label."""
    Z, Y = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    relevance = [sum((z @ y / (z @ z + 1)) ** 2 / (y @ y + 1) for y in Y.T) for z in Z.T]
    root = np.maximum(np.array(relevance) / max(relevance), 1e-12) ** 0.25
    certainty = np.array([z @ z / (z @ z + 1) for z in Z.T])
    return root / np.average(root, weights=certainty)
