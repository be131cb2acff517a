"""DecisionClassifier: calibrated probabilities and tuned decisions for any classifier."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice
from sdgs.estimators._cross_fitted import CrossFittedClassifier
from sdgs.estimators._label_scores import Scores
from sdgs.readout._calibrated_average import CalibratedAverage
from sdgs.readout._calibration import calibrate_varying, identity


class DecisionClassifier(CrossFittedClassifier):
    """Calibrated probabilities and tuned decisions for the labels of any classifier.

    Most classifiers predict a label if its probability is at least one half. If samples have few of many labels, that
    is far from the best F1. This estimator does for any classifier what :class:`sdgs.SDGSClassifier` does for its own:

    1. *Cross-fitting*: the classifier is fitted to the other folds to score each fold, so that scores of the training
       samples are as good as those of new samples will be, and no better.
    2. *Calibration*: probabilities of labels are fitted to these scores.
    3. *Decision*: the rule that turns probabilities into labels is tuned for a measure.

    The classifier is then fitted to all samples. So a fit takes ``cv`` + 1 fits of it, and a prediction one.

    Parameters
    ----------
    estimator : classifier
        Any classifier with scikit-learn's interface that has ``predict_proba`` or ``decision_function``: one for label
        matrices, such as a random forest, ``OneVsRestClassifier``, ``MultiOutputClassifier``, ``ClassifierChain``, or
        those of :mod:`sdgs.methods`; or one for a single label, such as logistic regression, of which each label gets a
        clone; or a pipeline or a search that ends with one. It is cloned and never changed.
    metric : {"f1", "accuracy", "hamming_loss", "micro_f1", "macro_f1", "subset_accuracy"}, default="f1"
        The measure of :mod:`sdgs.metrics` to decide for: see ``metric`` and Notes of :class:`sdgs.SDGSClassifier`.
    decision : str, float, int or sequence of floats, default="expected"
        How probabilities become labels. ``"expected"``: the label set with the best expected ``metric`` for each
        sample. ``"threshold"``, ``"thresholds"``: one tuned threshold, or one per label. ``"share"``: the threshold
        that gives as many labels as the training samples have, or the closest possible number. ``"top"``: a tuned
        number of labels per sample. A number or a sequence of them is a given threshold, or one per label; an integer
        is a given number of labels. Without effect for a 1-D target.
    at_least_one : bool or "auto", default="auto"
        Whether each sample gets a label. ``"auto"``: if each training sample has one, and ``metric`` is not the Hamming
        loss.
    label_weight : None, "balanced" or sequence of k positive floats, default=None
        Labels are decided on as if their odds p / (1 - p) were so many times as large: a label with a weight above 1
        is predicted more often. Probabilities do not change. ``"balanced"``: (mean frequency / frequency) ** 0.5, so
        that rare labels are predicted more often, which raises macro F1; see docs/decisions.md. Without effect on
        labels with a tuned threshold of their own (``decision="thresholds"``), because that adapts to the weight. For a
        1-D target the odds of the classes are multiplied.
    cv : int, splitter or list of splits, default=3
        The folds: a number, a splitter of scikit-learn or of :mod:`sdgs.model_selection`, or pairs of arrays with
        training and test rows, which predict each sample at most once. With a number, folds are held out only until
        10,000 samples have been predicted, which is enough.
    calibration : {"auto", None}, default="auto"
        ``"auto"``: log-odds are linear in the scores, with slopes and offsets that depend on how frequent a label is
        (four coefficients for all labels together). Scores are the log-odds of ``predict_proba`` if the classifier has
        it, shrunk as by two more training samples, one with and one without the label; else the values of
        ``decision_function``. None: probabilities as they are, and values of ``decision_function`` as log-odds.
    random_state : int, RandomState instance or None, default=None
        For the folds. Unless it is None, also for the classifier where its own is None.
    n_jobs : int or None, default=None
        Fits that run at the same time.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all samples and to the labels that are neither constant nor empty (methods of this package: to all
        labels). A ``OneVsRestClassifier`` if ``estimator`` takes no label matrices; None if all labels are constant.
    classes_ : ndarray of shape (k,)
        The names of the labels, or the classes of a 1-D target.
    out_of_fold_probabilities_ : ndarray of shape (m, k)
        Probabilities of training samples by classifiers that were not fitted to them, in float32.
    out_of_fold_rows_ : ndarray of shape (m,)
        Which samples these are: all if there are at most 10,000, but for those that ``cv`` does not predict or whose
        weight is 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``X`` is a DataFrame whose column names are strings.

    Notes
    -----
    Labels may be unobserved: NaN in a label matrix, stored NaN in a sparse one. Methods of this package that take such
    labels get them; other classifiers are fitted to one label at a time, on the samples in which it is observed, also
    if they could take a complete label matrix. Calibration and decision use the observed labels. Classifiers for label
    matrices alone, such as ``MultiOutputClassifier``, are rejected then.

    See Also
    --------
    AveragingClassifier : The same for the average of several classifiers.
    sklearn.model_selection.TunedThresholdClassifierCV : One threshold for one binary label.
    sklearn.calibration.CalibratedClassifierCV : Calibration for one class per sample.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sdgs import DecisionClassifier, metrics
    >>> from sdgs.datasets import make_composite_digits
    >>> train = make_composite_digits(600, max_labels=2, subset="train", random_state=0)
    >>> test = make_composite_digits(200, max_labels=2, subset="test", random_state=1)
    >>> trees = ExtraTreesClassifier(random_state=0)
    >>> plain = metrics.f1(test.Y, trees.fit(train.X, train.Y).predict(test.X))
    >>> decided = metrics.f1(test.Y, DecisionClassifier(trees, random_state=0).fit(train.X, train.Y).predict(test.X))
    >>> decided > plain + 0.1
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        metric: str = "f1",
        decision: Any = "expected",
        at_least_one: Any = "auto",
        label_weight: Any = None,
        cv: Any = 3,
        calibration: str | None = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.decision = decision
        self.at_least_one = at_least_one
        self.label_weight = label_weight
        self.cv = cv
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _named_estimators(self) -> list[tuple[str, Any]]:
        return [("estimator", self.estimator)]

    def _shrinks(self) -> bool:
        return self.calibration is not None

    def _set_attributes(self) -> None:
        self.estimator_ = self._scorers[0].estimator

    def _fit_average(
        self,
        scores: list[Scores],
        Y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        *,
        at_least_one: bool,  # noqa: ARG002
    ) -> CalibratedAverage:
        calibration = calibrate_varying(scores[0], Y, fit=self.calibration is not None, sample_weight=sample_weight)
        return CalibratedAverage((calibration,), np.ones(1), identity(Y.shape[1]))

    def _check_parameters(self) -> None:
        check_choice(self.calibration, "calibration", ("auto", None))
        super()._check_parameters()
