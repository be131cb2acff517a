"""The predictor of a described model."""

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.deployment.predictor._decided_labels import decide, expit, softmax_of_log_expit, weighted_class_scores
from sdgs.deployment.predictor._pipeline_scores import Pipeline
from sdgs.deployment.predictor._sample_blocks import Floats, check_names, dense_blocks, read_samples, times


def read_description(document: str, arrays: str) -> Any:
    """The description of a model: JSON in which {"array": [offset, dtype, shape]} stands for one of the arrays."""
    data = zlib.decompress(base64.b64decode(arrays))

    def replace_arrays(value: dict[str, Any]) -> Any:
        if list(value) != ["array"]:
            return value
        offset, dtype, shape = value["array"]
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(data, dtype=dtype, count=count, offset=offset).reshape(shape)

    return json.loads(document, object_hook=replace_arrays)


class Predictor:
    """Scores, probabilities and labels of a described model."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.description = description
        self.labels: list[Any] = description["labels"]
        self.pipelines = [Pipeline(content) for content in description["pipelines"]]

    def scores(self, X: Any) -> Floats:
        """The log-odds of labels (n, k), or the scores of a model without probabilities."""
        description = self.description
        check_names(X, description["features"])
        X = read_samples(X, description["n_features"], missing=description["takes_missing"])
        with np.errstate(over="ignore", invalid="ignore"):
            if description["linear"] is not None:
                coef, intercept = description["linear"]["coef"], description["linear"]["intercept"]
                blocks = [times(block, coef) + intercept for block in dense_blocks(X)]
                return np.concatenate([np.zeros((0, len(self.labels))), *blocks])
            scores = sum(pipeline.scores(X) for pipeline in self.pipelines) / len(self.pipelines)
            if description["calibration"] is not None:
                scores = scores * description["calibration"]["slope"] + description["calibration"]["offset"]
        if not np.isfinite(scores).all():
            raise ValueError("X has entries that are too large for this model: scores overflow.")
        return np.asarray(scores)

    def probabilities(self, X: Any) -> Floats:
        """The probabilities of labels (n, k)."""
        log_odds = self.scores(X)
        return softmax_of_log_expit(log_odds) if self.description["one_per_sample"] else expit(log_odds)

    def predict(self, X: Any) -> NDArray[Any]:
        """0/1 per label (n, k), or the label of each sample (n,) where a sample has exactly one."""
        scores = self.scores(X)
        if self.description["one_per_sample"]:
            best = weighted_class_scores(self.description["decision"], scores).argmax(axis=1)
            return np.asarray(np.asarray(self.labels)[best])
        return decide(self.description["decision"], scores).astype(np.int64)

    def label_lists(self, X: Any) -> list[list[Any]]:
        """The names of the labels of each sample."""
        predicted = self.predict(X)
        if predicted.ndim == 1:
            return [[label] for label in predicted.tolist()]
        return [[self.labels[j] for j in np.flatnonzero(row)] for row in predicted]
