"""The content of a comparison as plain values: for JSON, and for the page."""

from typing import Any

import numpy as np

from sdgs.comparison._comparison_result import Comparison, split_rows
from sdgs.comparison._method_ranks import MethodRanks


def comparison_values(comparison: Comparison) -> dict[str, Any]:
    """All of a comparison as values of JSON; NaN where a method failed."""
    by_name = {method.name: method for method in comparison.methods}
    methods = []
    for row in comparison.summary():
        method = by_name[row.name]
        methods.append(
            {
                **vars(row),
                "measures": {name: float(values.mean()) for name, values in method.measures.items()},
                "label_f1": method.label_f1.tolist(),
                "parameters": dict(method.parameters),
                "warnings": dict(method.warnings),
                "splits": [
                    {key: value for key, value in split.items() if key != "method"} for split in split_rows(method)
                ],
            }
        )
    return {
        "samples": comparison.n_samples,
        "features": comparison.n_features,
        "labels": list(comparison.label_names),
        "metric": comparison.metric,
        "folds": comparison.n_splits,
        "repeats": comparison.n_repeats,
        "seed": comparison.random_state,
        "versions": dict(comparison.versions),
        "methods": methods,
        "left_out": dict(comparison.left_out),
        "notes": list(comparison.notes),
        "conclusion": comparison.conclusion(),
    }


def rank_values(ranks: MethodRanks) -> dict[str, Any]:
    """The ranks over several data sets as values of JSON."""
    p_values = np.asarray(ranks.wilcoxon_p_values)
    return {
        "metric": ranks.metric,
        "datasets": list(ranks.dataset_names),
        "methods": [
            {
                "name": name,
                "title": title,
                "mean_rank": float(ranks.mean_ranks[j]),
                "values": ranks.values[:, j].tolist(),
                "ranks": ranks.ranks[:, j].tolist(),
                "wilcoxon_p_value": float(p_values[j]),
            }
            for j, (name, title) in enumerate(zip(ranks.names, ranks.titles, strict=True))
        ],
        "friedman": vars(ranks.friedman),
        "critical_difference": ranks.critical_difference,
        "not_ranked": list(ranks.not_ranked),
        "conclusions": ranks.conclusions(),
    }
