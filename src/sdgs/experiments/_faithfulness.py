"""Whether the reasons of predictions are faithful: what deleting them does to the log-odds of the model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from sdgs.datasets import Dataset
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.explanation._counterfactual import without_features

N_DELETED = 5  # features of a sample
_N_SAMPLES = 150  # held-out samples that are explained
_N_DRAWS = 5  # of random features per label, averaged


def measure_faithfulness(data: Dataset, seed: int, *, n_samples: int = _N_SAMPLES) -> dict[str, Any]:
    """How far the log-odds of predicted labels fall on average when five features of a sample are deleted.

    The model is fitted to two thirds of the samples, and predicts some of the others. A deleted word is 0, a deleted
    measurement the mean of its column. The features are those with the largest parts of the log-odds (``reasons``), the
    ones whose deletion alone lowers the log-odds most (``occlusion``), random ones that the sample has (``random``), or
    those by which the label explains most of the sample (``shares``).
    """
    X, Y = data.X, data.Y
    if Y is None:
        raise ValueError(f"{data.name} has samples without labels.")
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[0])
    training, others = np.split(order, [2 * order.size // 3])
    X = csr_array(X) if issparse(X) else X
    model = SDGSClassifier(gamma=None, random_state=seed).fit(X[training], Y[training])
    means = None if issparse(X) else X[training].mean(axis=0)
    samples = X[others[:n_samples]]
    decompositions = model.explain(samples)
    falls = []
    for row, sample in enumerate(model.explain_prediction(samples)):
        x = samples[[row]]
        present = x.indices if issparse(x) else np.arange(x.shape[1])
        if not present.size:
            continue
        parts = sample.parts()
        occluded = model.decision_function(_stack([without_features(x, [feature], means) for feature in present]))
        for i, label in enumerate(sample.labels):
            totals = parts.features[i] + parts.features_through_components[i]
            deleted = [
                parts.columns[np.argsort(-totals, kind="stable")[:N_DELETED]],
                present[np.argsort(occluded[:, label], kind="stable")[:N_DELETED]],
                decompositions[row].reasons(list(decompositions[row].labels).index(label), N_DELETED),
                *(rng.choice(present, min(N_DELETED, present.size), replace=False) for _ in range(_N_DRAWS)),
            ]
            rest = _stack([without_features(x, features, means) for features in deleted])
            falls.append(sample.log_odds[i] - model.decision_function(rest)[:, label])
    reasons, occlusion, shares, *random = np.mean(falls, axis=0).tolist() if falls else [np.nan] * (3 + _N_DRAWS)
    fall = {"reasons": reasons, "occlusion": occlusion, "random": float(np.mean(random)), "shares": shares}
    return {"measured": fall, "n_samples": samples.shape[0], "n_labels": len(falls)}


def _stack(samples: list[Any]) -> NDArray[Any] | csr_array:
    """Samples (1, p) below each other."""
    return csr_array(vstack(samples)) if issparse(samples[0]) else np.concatenate(samples)
