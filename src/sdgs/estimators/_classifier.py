"""The estimator: checks its parameters, and calls the two stages."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError

from sdgs._utils._array_api import namespace
from sdgs._utils._validation import check_choice, check_number, has_missing, is_sparse
from sdgs.estimators._sdgs_model import PENALTIES, SDGSModel, scalings_of
from sdgs.readout._features import PipelineParameters
from sdgs.readout._scaling import possible_scalings
from sdgs.selection._cross_fit import CVResult, coordinate_search

_GLANCE = 1000  # samples that say what a scaling will likely be
HUBERS = (None, 0.05, 0.025)  # what "auto" chooses from; for samples of unit norm


class SDGSClassifier(SDGSModel):
    r"""Multi-label classification by structured decomposition and group sparsity (SDGS).

    Training takes the data apart into one low-rank component a label and a sparse residual (:func:`sdgs.decompose`);
    the row space of a component is the label's subspace. A new sample is coded over all subspaces with as few of them
    as possible (:func:`sdgs.group_lasso`), and the labels are read from the code: by a calibrated ridge regression, or
    as in the paper, where a label is predicted if its part of the code has an l1 norm of at least ``threshold``.

    Samples may be dirty. NaN, in training and in prediction, is an entry that was not observed; nothing is imputed for
    it. With ``huber`` a sample has a sparse residual at prediction as well, so that corrupted entries do little harm.
    ``transform`` gives the samples cleaned of both.

    Parameters
    ----------
    n_components : int or sequence of ints, default=4
        Dimension of a label's subspace, for all labels or for each (r). Less than the number of features: labels that
        all have the whole space could not be told apart.
    residual_size : int or float, default=1e-4
        Non-zero entries of the residual in training: a number, or a share of all entries (K).
    alpha : float, default=0.1
        Weight of the group penalty in prediction (lambda). For rows of unit norm 0.05 to 0.45 is sensible: the larger,
        the fewer labels have a part in the code, and at 1 none has.
    huber : float, "auto" or None, default=None
        Weight of the residual at prediction (mu): entries that a sample's code misses by more than this count by their
        sign and no longer by their size. For rows of unit norm a good value is somewhat above the size of a usual
        entry's noise, and below ``alpha``. None is the paper's prediction, without a residual. ``"auto"`` goes from
        None to 0.05 and 0.025 as far as that gains a tenth of a point in cross-validation, for dense samples; for
        sparse ones it is None.
    gamma : float or None, default=None
        For labels that no linear method can tell apart: they are also read from Laplacian kernels
        exp(-gamma d(x, x') / D) with landmarks, which are training samples. d is the sum of the differences of the
        features, of dense samples in standard deviations, and D its mean: 1 or 2 is a good value whatever their scale.
        The same as :class:`sklearn.kernel_approximation.Nystroem` before the regression. Dirty samples are cleaned
        first.
    n_landmarks : int or "auto", default="auto"
        Training samples that the kernel is computed with, at most; only with ``gamma``. ``"auto"`` is half of
        them, but at least 1500, if there are as many, and at most 3000, or a seventh up to 4500; a quarter of sparse
        ones, 500 to 2000.
    readout : {"ridge", "norm"}, default="ridge"
        How labels are read from the code. ``"ridge"``: by a ridge regression for all labels at once, from the sample
        and the code with its signs and norms, as far as these help (``read_from_``), calibrated on training samples
        that it was not learnt from; takes up to ``cv`` + 1 decompositions, and gives ``predict_proba``; see Notes for
        large data, and for words. ``"norm"``: as in the paper, by the l1 norm of a label's part of the code. Predicts
        worse.
    threshold : float, default=0.1
        For ``readout="norm"``: least l1 norm of a label's part of the code for the label to be predicted (delta).
    penalty : float or "auto", default="auto"
        For ``readout="ridge"``: the ridge penalty. ``"auto"`` takes from 0.01, 0.03, ..., 100 that which is best in
        cross-validation.
    metric : {"f1", "accuracy", "hamming_loss"}, default="f1"
        For ``readout="ridge"``: the measure of :mod:`sdgs.metrics` that predictions should be good by. What is chosen
        in cross-validation is chosen by it, with ``decision="expected"``.
    decision : str, float, int or sequence of floats, default="expected"
        For ``readout="ridge"``: which labels to predict, given their probabilities. ``"expected"``: for each sample the
        set that is best by ``metric`` as far as the probabilities say, see Notes. ``"threshold"``: those above one
        threshold, tuned for ``metric``. ``"thresholds"``: the same with one threshold a label, tuned for each label on
        its own. ``"share"``: those above the threshold that gives as many labels in all as training samples have.
        ``"top"``: the same number for each sample, tuned for ``metric``. All is tuned in cross-validation. A number is
        not tuned: a float is a threshold, a sequence of floats one a label, and an int a number of labels a sample.
        For a 1-D target it is always the most probable class.
    at_least_one : bool or "auto", default="auto"
        For ``readout="ridge"``: whether a sample that would have no label gets its most probable one. ``"auto"``: if
        all training samples have one, and the metric is not the Hamming loss, which that cannot improve.
    cv : int, default=3
        For ``readout="ridge"``: folds of the cross-validation; see Notes for large data.
    scaling : {"auto", "rows", "columns", "idf", None}, default="auto"
        How samples are made comparable. ``"rows"`` brings every sample to unit Euclidean norm, in training and
        prediction; ``alpha``, ``huber``, ``threshold`` and ``penalty`` are made for that. ``"columns"`` standardises
        the features before it, and ``"idf"`` weights them before it by inverse document frequency, for words.
        ``"auto"`` has a quick look where there is a choice: at how well a ridge regression of the samples alone
        predicts in cross-validation. Dense samples of which a feature is often negative have ``"columns"``. Other dense
        ones have ``"rows"``, made for what means a sum, such as images; but ``"columns"`` where that is better by five
        points of F1 in the look, as it is for measurements in different units. Sparse ones, such as counts of words,
        have ``"idf"`` or ``"rows"``, whichever is better in the look, but ``"rows"`` if entries are missing. With
        ``readout="norm"`` there is no look: ``"rows"`` for dense and ``"idf"`` for sparse samples. Often is more than
        one time in five: less may be corrupted. None takes the data as they are.
    solver : {"brp", "svd", "brp-fresh"}, default="brp"
        See :func:`sdgs.decompose`.
    max_iter : int, default=100
        Most training sweeps.
    tol : float, default=1e-2
        Training stops when the error is at most this share of the data, or when a sweep lowers it by at most this
        share. Early is better: subspaces that are fitted to the last digit predict worse.
    random_state : int, RandomState instance or None, default=None
        For the random projections, the folds and the landmarks.
    n_jobs : int or None, default=None
        Threads that take samples apart, code them and compute kernels. Results change by rounding at most.
    checkpoint : str, Path or None, default=None
        A folder, made if it is not there, to keep what training has done so far in: the state of the decomposition that
        it is at, between sweeps; all decompositions that it is done with, those of the folds of the cross-validation
        included; and what came of every setting that was cross-validated. Killed at any point, the same ``fit`` goes on
        from there to the same model, to the last digit. Other data and other parameters find nothing there and leave it
        alone, so several models may share a folder. The files stay: delete the folder when the model is saved. Needs a
        ``random_state``. See :func:`sdgs.decompose`.

    Notes
    -----
    After ``fit`` only ``n_jobs`` and, with ``readout="norm"``, ``alpha`` and ``threshold`` can be changed without
    fitting again. Columns are weighted by all training samples, also in the cross-validation.

    ``score`` is scikit-learn's, the share of samples whose labels are all right. :mod:`sdgs.metrics` has the paper's
    measures; what it calls accuracy is the mean Jaccard index.

    With ``decision="expected"`` and F1 there is no one threshold: of the sets of the m most probable labels of a
    sample, that with the largest :math:`2 \sum_{i \in set} p_i / (m + \sum_i p_i)` is taken, close to the expected F1.
    For the Hamming loss it is every label with a probability of at least one half.

    Where less than a quarter of all entries are not zero, as in counts of words, features have ridge penalties of their
    own: the more one says of the labels by itself, the smaller. And where that is better in cross-validation they have
    others for every label, by what they say of that label; that is tried if there are four features a label. There,
    unless ``metric`` is the Hamming loss, samples count in the regression by one over their number of labels plus the
    mean of that: a label of one with many is worth less.

    With ``readout="norm"`` ``alpha``, ``threshold`` and ``n_components`` are worth tuning; 6 components, ``alpha=0.2``
    and ``threshold=0.1`` were best on average in cross-validation on the training parts of the paper's data sets.

    Large data: the cross-validation is done on 50,000 samples drawn at random, or as many as 2 GiB of scores allow, and
    ends with the fold by which 10,000 were left out; the decomposition and the ridge regression are then learnt from
    all. Where the sample, its kernels with landmarks, its code and the norms of that have more than 4096 columns
    together, labels are read from the 4096 that say most of them, each column for itself; but a kernel's all stay, and
    beside them 1024 at least.
    Memory beyond the data and the decomposition is bounded in training, and in prediction it is that of the result.
    Samples that do not fit in memory come as a Dask array: docs/large-data.md.

    With scikit-learn 1.9 or newer ``set_callbacks`` takes its callbacks, such as :class:`sklearn.callback.ProgressBar`,
    which in notebooks needs ipywidgets. Their tasks are to choose (settings, and the folds of each) and to learn. A
    request to stop early is not heard.

    :class:`SDGSClassifierCV` finds the parameters itself.

    Attributes
    ----------
    decomposition_ : Decomposition
        The training data taken apart; in the scale that ``scaling`` gives them.
    components_ : tuple of ndarrays of shape (r_i, p)
        The subspace of each label.
    scaling_ : str or None
        The scaling that is used.
    scaler_ : StandardScaler, TfidfTransformer or None
        How columns are weighted, if ``scaling`` does.
    classes_ : ndarray of shape (n_labels,)
        Column names of ``y`` if it was a DataFrame, else column numbers; the classes if the target was 1-D.
    n_iter_ : int
        Training sweeps.
    huber_ : float or None
        The weight of the residual that is used.
    penalty_ : float
        The ridge penalty that is used; only with ``readout="ridge"``.
    read_from_ : tuple of str
        What the ridge regression reads, of "kernel" (with ``gamma``), "sample", "code" and "norms" (of the
        labels' parts of the code): as many of these as it takes, in this order; only with ``readout="ridge"``. Chosen
        in cross-validation, as the penalty.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``X`` was a DataFrame with string column names.

    Examples
    --------
    >>> from sdgs import SDGSClassifier
    >>> from sdgs.datasets import make_composite_digits
    >>> train = make_composite_digits(2000, max_labels=2, subset="train", random_state=0)
    >>> test = make_composite_digits(500, max_labels=2, subset="test", random_state=1)
    >>> model = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    >>> model.predict(test.X).shape
    (500, 10)
    """

    def __init__(
        self,
        n_components: int | Sequence[int] = 4,
        *,
        residual_size: int | float = 1e-4,
        alpha: float = 0.1,
        huber: float | str | None = None,
        gamma: float | None = None,
        n_landmarks: int | str = "auto",
        readout: str = "ridge",
        threshold: float = 0.1,
        penalty: float | str = "auto",
        metric: str = "f1",
        decision: str | float | Sequence[float] = "expected",
        at_least_one: bool | str = "auto",
        cv: int = 3,
        scaling: str | None = "auto",
        solver: str = "brp",
        max_iter: int = 100,
        tol: float = 1e-2,
        random_state: Any = None,
        n_jobs: int | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.n_components = n_components
        self.residual_size = residual_size
        self.alpha = alpha
        self.huber = huber
        self.gamma = gamma
        self.n_landmarks = n_landmarks
        self.readout = readout
        self.threshold = threshold
        self.penalty = penalty
        self.metric = metric
        self.decision = decision
        self.at_least_one = at_least_one
        self.cv = cv
        self.scaling = scaling
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint

    def _fit(self, X: Any, labels: Any) -> None:
        self._check_thresholds(labels.shape[1])
        labels, scalings, training = labels.tocsr(), scalings_of(X), self._training()
        ranks = self.n_components if np.ndim(self.n_components) == 0 else tuple(self.n_components)  # type: ignore[arg-type]
        huber = None if self.huber == "auto" else self.huber
        setting = PipelineParameters(self.scaling, ranks, self.alpha, huber, self.gamma)  # type: ignore[arg-type]
        possible = possible_scalings(X) if self.scaling == "auto" else ()
        if self.readout == "norm":
            if possible:
                setting = replace(setting, scaling=possible[0])
            with self._task.part("learn", share=1.0):
                self._members = [self._member(X, labels, scalings(setting.scaling), setting, training)]
        else:
            penalties = PENALTIES if self.penalty == "auto" else (float(self.penalty),)
            cross_fit = self._cross_fit(X, labels, scalings, training, penalties)
            if possible:
                setting = replace(setting, scaling=cross_fit.best_scaling(possible, for_subspaces=True))
            # Entries of sparse data are words and the like: few, and none of them wild.
            axes = [("huber", HUBERS)] if self.huber == "auto" and not is_sparse(X) else []
            with self._task.part("choose", n_parts=len(HUBERS) if axes else 1, share=0.75) as choosing:

                def attempt(setting: PipelineParameters) -> CVResult:
                    with choosing.part("setting", n_parts=self.cv + 1) as trying:
                        return cross_fit(setting, trying)

                best, _ = coordinate_search(setting, axes, attempt)
            with self._task.part("learn", n_parts=1, share=0.25) as learning:
                self._read_out(X, labels, scalings, training, [best], learning)
        self._set_attributes()

    def _scores(self, X: Any) -> Any:
        """The l1 norm of each label's part of a sample's code, or the log-odds of each label."""
        member = self._members[0]
        if self.readout == "norm":  # then the code can be weighted anew after the fit
            view = replace(member.view, setting=replace(member.view.setting, alpha=self.alpha))
            parts = [view.codes(block, self.n_jobs).l1_norms() for block, _ in member.scaled_blocks(X)]
            return namespace(X).concat(parts)
        if member.ridge is None:
            raise NotFittedError('This model was fitted with readout="norm". Fit it again to read labels out by ridge.')
        return super()._scores(X)

    def _positive(self, scores: Any) -> Any:
        return scores >= float(self.threshold) if self.readout == "norm" else super()._positive(scores)

    def _check_parameters(self) -> None:
        """What ``decompose`` does not check."""
        super()._check_parameters()
        check_number(self.alpha, "alpha")
        check_choice(self.readout, "readout", ("norm", "ridge"))
        if self.huber == "auto" and self.readout == "norm":
            raise ValueError('huber="auto" needs readout="ridge": the choice is made on what that predicts.')
        if self.huber is not None and self.huber != "auto":
            check_number(self.huber, "huber", positive=True)
        if self.gamma is not None:
            check_number(self.gamma, "gamma", positive=True)
            if self.readout == "norm":
                raise ValueError('gamma needs readout="ridge".')
        check_number(self.threshold, "threshold", positive=True)
        if self.penalty != "auto":
            check_number(self.penalty, "penalty", positive=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The labels are read out as in the paper, by a fixed threshold and without the signs of the code.
        tags.classifier_tags.poor_score = self.readout == "norm"
        return tags


def likely_scaling(X: Any, labels: Any) -> str:
    """What ``scaling="auto"`` will most likely be for samples and a label matrix (CSR), by a look at some of them."""
    model = SDGSClassifier(random_state=0)
    model._one_class_a_sample = False
    look = model._cross_fit(X, labels, scalings_of(X), model._training(), PENALTIES[::2], most=_GLANCE)
    return look.best_scaling(possible_scalings(X), for_subspaces=True)


def warm_up(X: Any, *, robust: bool) -> None:
    """Compile what a fit to such samples runs, or load it if that was done before; so that its time is not the fit's.

    ``robust``: whether a ``huber`` may be tried.
    """
    rng = np.random.default_rng(0)
    small, labels = rng.random((24, 6)), rng.random((24, 2)) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for huber in (None, 0.1) if robust or has_missing(X) else (None,):
            model = SDGSClassifier(2, huber=huber, cv=2, scaling="rows", random_state=0, n_jobs=2)
            model.fit(csr_array(small) if issparse(X) else small, labels)
