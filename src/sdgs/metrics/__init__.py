"""The paper's five metrics of a multi-label prediction, averaged over samples, and metrics per label.

With Y_i the true and Z_i the predicted label set of sample i, and k the number of labels::

    Hamming loss  |Y_i xor Z_i| / k
    precision     |Y_i & Z_i| / |Z_i|
    recall        |Y_i & Z_i| / |Y_i|
    F1            2 |Y_i & Z_i| / (|Y_i| + |Z_i|)
    accuracy      |Y_i & Z_i| / |Y_i | Z_i|

The paper does not define 0/0. Here, for all four ratios: if *both* sets are empty, the prediction is right and the
sample counts as ``both_empty`` (default 1). If only one set is empty, a precision or recall of 0/0 counts as
``zero_division`` (default 0). Either may be ``numpy.nan``, which leaves such samples out of the average.

``METRICS`` lists the metrics by name. :func:`evaluate`, the command line, the report page and the displays read it.
"""

from sdgs.metrics._multilabel import METRICS, accuracy, evaluate, evaluate_labels, f1, hamming_loss, precision, recall

__all__ = ["METRICS", "accuracy", "evaluate", "evaluate_labels", "f1", "hamming_loss", "precision", "recall"]
