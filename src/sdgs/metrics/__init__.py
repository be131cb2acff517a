"""The paper's five measures, and the same per label."""

from sdgs.metrics._multilabel import accuracy, evaluate, evaluate_labels, f1, hamming_loss, precision, recall

__all__ = ["accuracy", "evaluate", "evaluate_labels", "f1", "hamming_loss", "precision", "recall"]
