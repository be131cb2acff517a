"""SDGSClassifier: one set of parameters, given by the user."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sdgs._utils._array_api import namespace
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._validation import check_choice, check_number, has_missing
from sdgs.estimators._sdgs_model import SDGSModel
from sdgs.estimators._updating import UpdatingMixin
from sdgs.readout._parameters import PipelineParameters
from sdgs.readout._pipeline import ReadoutContext, fit_pipeline
from sdgs.readout._samples import ArraySamples, Samples
from sdgs.readout._scaling import suitable_scalings
from sdgs.selection._candidate import CVResult
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._coordinate_search import coordinate_search
from sdgs.selection._defaults import DENSE_GAMMA, HUBERS, PENALTIES, PREVIEW_ROWS


class SDGSClassifier(UpdatingMixin, SDGSModel):
    r"""Multi-label classification by structured decomposition and group sparsity (SDGS).

    Training decomposes the data into one low-rank component per label and a sparse residual (:func:`sdgs.decompose`).
    The row space of a component is the label's subspace. A new sample is coded over all subspaces with a group lasso
    (:func:`sdgs.group_lasso`), which uses as few of them as possible. Labels are read from the code by a calibrated
    ridge regression, or as in the paper: a label is predicted if its part of the code has an l1 norm of at least
    ``threshold``.

    NaN in ``X`` is a missing entry, in training and in prediction; nothing is imputed. With ``huber`` a sample has a
    sparse residual at prediction too, so that corrupted entries do little harm. ``transform`` returns cleaned samples.

    Parameters
    ----------
    n_components : int or sequence of ints, default=4
        Dimension of a label's subspace (r), one for all labels or one per label. Less than the number of features,
        because labels whose subspace is the whole space cannot be distinguished.
    residual_size : int or float, default=1e-4
        Number of non-zero entries of the training residual (K): an int counts them, a float is a share of all entries.
    alpha : float, default=0.1
        Weight of the group penalty at prediction (lambda). For rows of unit norm 0.05 to 0.45 is sensible: the larger,
        the fewer labels take part in the code; at 1 the code is zero.
    huber : float, "auto" or None, default=None
        Weight of the residual at prediction (mu). Entries that the code misses by more than this count by their sign
        and no longer by their size. For rows of unit norm a good value is above the noise of a usual entry and below
        ``alpha``. None is the paper's prediction, without a residual. ``"auto"`` tries None, 0.05 and 0.025 for dense
        samples, in this order, while F1 in cross-validation gains a tenth of a point; for sparse samples it is None.
    gamma : float, None or "auto", default="auto"
        If not None, labels are also read from the Laplacian kernel exp(-gamma d(x, z) / D) with landmarks z, which are
        training samples: for labels that no linear method separates. d is the sum of absolute differences of features,
        for dense samples in standard deviations, and D its mean, so that 1 or 2 is a good value at any scale. It is
        equivalent to :class:`sklearn.kernel_approximation.Nystroem` before the regression. Samples are cleaned first.
        For dense samples ``"auto"`` chooses between None and 2 in cross-validation, for sparse ones and Dask arrays it
        is None.
    n_landmarks : int or "auto", default="auto"
        Maximum number of landmarks; only with ``gamma``. ``"auto"``, for n samples: n/4, clipped to [500, 2000].
    readout : {"ridge", "norm"}, default="ridge"
        How labels are read. ``"ridge"``: by a ridge regression of all labels on the sample, its code and the norms of
        the code, as far as each of these helps (``read_from_``), calibrated by cross-fitting. It takes up to ``cv`` + 1
        decompositions, and gives ``predict_proba``. ``"norm"``: as in the paper, by the l1 norm of a label's part of
        the code; less accurate.
    threshold : float, default=0.1
        For ``readout="norm"``: minimum l1 norm of the code of a predicted label (delta).
    penalty : float or "auto", default="auto"
        For ``readout="ridge"``: the ridge penalty. ``"auto"`` chooses among 0.01, 0.03, ..., 100 in cross-validation.
    metric : {"f1", "accuracy", "hamming_loss", "micro_f1", "macro_f1", "subset_accuracy"}, default="f1"
        For ``readout="ridge"``: the measure of :mod:`sdgs.metrics` that choices in cross-validation and
        ``decision="expected"`` optimise. ``"accuracy"`` is the Jaccard index, ``"subset_accuracy"`` the share of
        samples whose labels are all right.
    decision : str, float, int or sequence of floats, default="expected"
        For ``readout="ridge"``: which labels are predicted, given probabilities.

        - ``"expected"``: for each sample the label set with the best expected ``metric``, see Notes;
        - ``"threshold"``: labels above one threshold, tuned for ``metric``;
        - ``"thresholds"``: the same with one threshold per label, each tuned for its label alone;
        - ``"share"``: labels above the threshold that predicts as many labels as the training samples have, or the
          closest number if probabilities are equal;
        - ``"top"``: the same number of labels for each sample, tuned for ``metric``;
        - a float is a threshold, a sequence of floats one threshold per label, an int a number of labels per sample.

        Tuning uses cross-fitted probabilities. For a 1-D target it is always the most probable class.
    at_least_one : bool or "auto", default="auto"
        For ``readout="ridge"``: whether a sample that would get no label gets its most probable one. ``"auto"``: if all
        training samples have a label and the metric is not the Hamming loss, which this cannot improve.
    label_weight : None, "balanced" or sequence of k positive floats, default=None
        For ``readout="ridge"``: labels are decided on as if their odds p / (1 - p) were so many times as large: a label
        with a weight above 1 is predicted more often. Probabilities do not change. ``"balanced"``: (mean frequency /
        frequency) ** 0.5, so that rare labels are predicted more often, which raises macro F1; see docs/decisions.md.
        Without effect on labels with a tuned threshold of their own (``decision="thresholds"``), because that adapts to
        the weight. For a 1-D target the odds of the classes are multiplied.
    cv : int, splitter or sequence of splits, default=3
        For ``readout="ridge"``: the number of folds; or a scikit-learn splitter, or pairs of training and test rows,
        that test each sample at most once.
    scaling : {"auto", "rows", "columns", "idf", None}, default="auto"
        How samples are scaled, in training and prediction. ``"rows"``: every sample to unit Euclidean norm, which
        ``alpha``, ``huber``, ``threshold`` and ``penalty`` assume. ``"columns"``: features standardised first.
        ``"idf"``: features weighted by inverse document frequency first, for words. None: as they are. ``"auto"``:

        - dense, some feature negative in more than 20 % of its entries: ``"columns"``;
        - other dense samples: ``"rows"``, which suits sums such as images, unless ``"columns"`` is better by 5 points
          of F1 in a preview, as for measurements in different units. If a single column has more than half of the sum
          of squares it is the other way round;
        - sparse and complete: ``"idf"`` or ``"rows"``, whichever is better in the preview;
        - sparse with missing entries: ``"rows"``.

        The preview is a cross-validated ridge regression on the samples alone. With ``readout="norm"`` there is no
        preview: the first of these for dense, and ``"idf"`` for sparse samples.
    encode : "auto", TableEncoder or None, default="auto"
        How a DataFrame with text, categories or dates becomes numbers. ``"auto"``: by a
        :class:`sdgs.preprocessing.TableEncoder` if it has a column that is neither numbers nor booleans, else it is
        taken as it is. A ``TableEncoder`` with other parameters is cloned, and encodes any ``X``. None: only numbers
        are taken. See docs/tables.md.
    assume : {"negative", "missing"}, default="negative"
        For ``readout="ridge"``: what it means that a label is not given. ``"negative"``: the sample does not have it.
        ``"missing"``: the sample may have it all the same, as where people tag what comes to mind. Then each label is
        taken to be given with probability ``propensity`` where it is true, and probabilities and decisions are those of
        the true labels. A 1-D target is refused. Labels that are unobserved (NaN) need no assumption.
    propensity : float, sequence of k floats or "auto", default="auto"
        Only with ``assume="missing"``: the probability, for all labels or per label, that a true label is given.
        ``"auto"``: one for all labels, estimated in cross-validation; see docs/incomplete-labels.md.
    solver : {"brp", "svd"}, default="brp"
        Bilateral random projections, or exact singular vectors: see :func:`sdgs.decompose`.
    max_iter : int, default=100
        Maximum number of training sweeps.
    tol : float, default=1e-2
        Training stops when the error is at most this share of the data, or when a sweep lowers it by at most this
        share. Subspaces that are fitted to convergence predict worse.
    random_state : int, RandomState instance or None, default=None
        For the random projections, the folds and the landmarks.
    n_jobs : int or None, default=None
        Threads. None means as many as BLAS may use, usually one per core. Results do not depend on it.
    checkpoint : str, Path or None, default=None
        A folder (created if needed) for the state of training: the current decomposition between sweeps, all finished
        decompositions, and the result of every candidate. Killed at any point, the same ``fit`` continues from there to
        the same model, to the last digit. Other data or parameters ignore these files, so that models may share a
        folder. Delete it when the model is saved. Needs a ``random_state``. See :func:`sdgs.decompose`.
    keep_samples : int or None, default=None
        For :meth:`update`: how many training samples the model, and its file, keep at most. Of more they keep sums
        alone. 10,000 is a good value; with more, updates are better and slower. None: the model cannot be updated.

    Attributes
    ----------
    decomposition_ : Decomposition
        The decomposition of the scaled training data.
    components_ : tuple of ndarrays of shape (r_i, p)
        The subspace of each label.
    scaling_ : str or None
        The scaling that is used.
    scaler_ : StandardScaler, TfidfTransformer or None
        The weights of columns, if ``scaling_`` has any.
    classes_ : ndarray of shape (n_labels,)
        Column names of ``y`` if it was a DataFrame, else column numbers; the classes if the target was 1-D.
    n_iter_ : int
        Training sweeps.
    huber_, gamma_ : float or None
        The weight of the residual and the kernel that are used.
    propensity_ : ndarray of shape (n_labels,) or None
        The propensities that are used; None with ``assume="negative"``.
    penalty_ : float
        The ridge penalty that is used; only with ``readout="ridge"``.
    read_from_ : tuple of str
        The leading ones of "kernel" (with ``gamma``), "sample", "code" and "norms" that the ridge regression reads;
        only with ``readout="ridge"``. Chosen in cross-validation, together with the penalty.
    out_of_fold_probabilities_ : ndarray of shape (m, n_labels), float32
        For m of the training samples the calibrated probability of each label, from pipelines that were not fitted to
        the sample, in the form of ``predict_proba``. On the host, also of fits on a device; only with
        ``readout="ridge"``. :meth:`suspicious_labels` uses them.
    out_of_fold_rows_ : ndarray of shape (m,)
        Which training samples these are, ascending: all of up to 10,000 samples; of more, or with more than 150
        labels, those that cross-validation predicts, see Notes. Only with ``readout="ridge"``.
    encoder_ : TableEncoder or None
        The fitted encoder of a table. Explanations, ``components_`` and ``transform`` are then in terms of its
        features, ``encoder_.get_feature_names_out()``. Methods take tables like that of ``fit``, or arrays that
        ``encoder_.transform`` returned.
    n_samples_seen_ : int
        The number of samples that ``fit`` and ``update`` have learnt; only with ``keep_samples``.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of str
        Only if ``X`` was a DataFrame with string column names.

    Notes
    -----
    After ``fit`` only ``n_jobs`` and, with ``readout="norm"``, ``alpha`` and ``threshold`` can be changed without
    fitting again. Columns are weighted by all training samples, in cross-validation too.

    ``score`` is scikit-learn's subset accuracy, the share of samples whose labels are all right. :mod:`sdgs.metrics`
    has the paper's measures; what the paper calls accuracy is the mean Jaccard index.

    With ``decision="expected"`` and F1 there is no threshold: among the sets of the m most probable labels of a sample,
    the one with the largest :math:`2 \sum_{i \in set} p_i / (m + \sum_i p_i)` is taken, which is close to the expected
    F1, and for the Jaccard index too. For micro F1 labels are predicted whose probability is at least half of the best
    expected micro F1 of the training samples; for macro F1, at least half of the label's best expected F1, and one half
    for labels that no training sample has. For the Hamming loss it is every label with a probability of at least one
    half. For subset accuracy it is the most probable of this set and of the label sets of training samples, whose
    probabilities are corrected by how often they occur: docs/decisions.md.

    If fewer than a quarter of all entries are not zero, as in word counts, two weights enter the ridge regression:
    features associated with labels are penalised less; and unless ``metric`` is the Hamming loss a sample with s labels
    has weight 1 / (s + mean of s), as a label of such a sample has in F1.

    With ``readout="norm"`` ``alpha``, ``threshold`` and ``n_components`` are worth tuning; 6 components, ``alpha=0.2``
    and ``threshold=0.1`` were best on average in cross-validation on the training parts of the paper's data sets.

    Large data: cross-validation uses at most 50,000 samples drawn at random (fewer with more than 150 labels), and
    stops after the fold by which 10,000 samples have been predicted; decomposition and ridge regression use
    all. If kernel, sample, code and norms together have more than 4096 columns, labels are read from the 4096 most
    relevant ones; all columns of a kernel stay, and at least 1024 others. Memory beyond the data and the decomposition
    is bounded. Samples that do not fit in memory come as a Dask array: docs/large-data.md.

    With scikit-learn 1.9 or newer ``set_callbacks`` takes its callbacks, such as :class:`sklearn.callback.ProgressBar`,
    which in notebooks needs ipywidgets. The tasks are to choose (candidates and their folds) and to learn. Requests to
    stop early are ignored.

    :class:`SDGSClassifierCV` finds the parameters itself.

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
        gamma: float | str | None = "auto",
        n_landmarks: int | str = "auto",
        readout: str = "ridge",
        threshold: float = 0.1,
        penalty: float | str = "auto",
        metric: str = "f1",
        decision: str | float | Sequence[float] = "expected",
        at_least_one: bool | str = "auto",
        label_weight: Any = None,
        cv: Any = 3,
        scaling: str | None = "auto",
        encode: Any = "auto",
        assume: str = "negative",
        propensity: Any = "auto",
        solver: str = "brp",
        max_iter: int = 100,
        tol: float = 1e-2,
        random_state: Any = None,
        n_jobs: int | None = None,
        checkpoint: str | Path | None = None,
        keep_samples: int | None = None,
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
        self.label_weight = label_weight
        self.cv = cv
        self.scaling = scaling
        self.encode = encode
        self.assume = assume
        self.propensity = propensity
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.keep_samples = keep_samples

    def _fit_samples(self, samples: Samples, labels: Any) -> None:
        context = self._context(samples, labels)
        ranks = self.n_components if np.ndim(self.n_components) == 0 else tuple(self.n_components)  # type: ignore[arg-type]
        huber, gamma = (None if value == "auto" else value for value in (self.huber, self.gamma))
        parameters = PipelineParameters(self.scaling, ranks, self.alpha, huber, gamma)  # type: ignore[arg-type]
        scalings = suitable_scalings(samples.column_statistics) if self.scaling == "auto" else ()
        if self.readout == "norm":
            if self.assume == "missing":
                raise ValueError('assume="missing" needs readout="ridge", which has probabilities.')
            if scalings:
                parameters = replace(parameters, scaling=scalings[0])
            with self._task.part("learn", share=1.0):
                self._pipelines = [fit_pipeline(samples, labels, parameters, context, None)]
        else:
            best = self._choose(samples, labels, context, parameters, scalings)
            with self._task.part("learn", n_parts=1, share=0.25) as task:
                self._fit_pipelines(samples, labels, context, [best], task)
            self._keep_sums(samples, labels, context, best)

    def _choose(
        self,
        samples: Samples,
        labels: Any,
        context: ReadoutContext,
        parameters: PipelineParameters,
        scalings: tuple[str, ...],
    ) -> CVResult:
        """The best of what is left to choose: a scaling, ``huber``, the ridge penalty and the feature blocks."""
        penalties = PENALTIES if self.penalty == "auto" else (float(self.penalty),)
        evaluator = CandidateEvaluator(samples, labels, context, penalties)
        if scalings:
            parameters = replace(parameters, scaling=evaluator.best_scaling(scalings, for_subspaces=True))
        axes: list[tuple[str, tuple[Any, ...]]] = []
        if self.gamma == "auto" and samples.supports_kernel and not samples.is_sparse:
            axes.append(("gamma", (None, DENSE_GAMMA)))
        # Entries of sparse data are counts of words and the like: few, and not corrupted.
        if self.huber == "auto" and not samples.is_sparse:
            axes.append(("huber", HUBERS))
        with self._task.part("choose", n_parts=1 + sum(len(values) - 1 for _, values in axes), share=0.75) as task:

            def evaluate(candidate: PipelineParameters) -> CVResult:
                with task.part("candidate", n_parts=context.n_folds + 1) as part:
                    return evaluator.evaluate(candidate, part)

            return coordinate_search(parameters, axes, evaluate)[0]

    @blas_on_one_thread()
    def _scores(self, X: Any) -> Any:
        """The log-odds of each label, or the l1 norm of its part of the code."""
        pipeline = self._pipelines[0]
        if self.readout == "norm":  # alpha may have changed since the fit
            encode = partial(pipeline.features.encode, n_jobs=self.n_jobs, alpha=self.alpha)
            return namespace(X).concat([encode(block).l1_norms() for block, _ in pipeline.scaled_blocks(X)])
        if pipeline.ridge is None:
            raise NotFittedError('This model was fitted with readout="norm". Fit it again to use readout="ridge".')
        return super()._scores(X)

    def _class_scores(self, scores: Any) -> Any:
        return scores if self.readout == "norm" else super()._class_scores(scores)

    def _decide(self, scores: Any) -> Any:
        return scores >= float(self.threshold) if self.readout == "norm" else super()._decide(scores)

    def _check_parameters(self) -> None:
        """Check what ``decompose`` does not check."""
        super()._check_parameters()
        self._check_keep_samples()
        check_number(self.alpha, "alpha")
        check_choice(self.readout, "readout", ("norm", "ridge"))
        if self.huber == "auto" and self.readout == "norm":
            raise ValueError(
                'huber="auto" needs readout="ridge": it is chosen in cross-validation, which "norm" has not.'
            )
        if self.huber is not None and self.huber != "auto":
            check_number(self.huber, "huber", positive=True)
        if self.gamma is not None and self.gamma != "auto":
            check_number(self.gamma, "gamma", positive=True)
            if self.readout == "norm":
                raise ValueError('gamma needs readout="ridge".')
        check_number(self.threshold, "threshold", positive=True)
        if self.penalty != "auto":
            check_number(self.penalty, "penalty", positive=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The paper's read-out has a fixed threshold and ignores the signs of the code.
        tags.classifier_tags.poor_score = self.readout == "norm"
        return tags


def likely_scaling(X: Any, labels: Any) -> str:
    """What ``scaling="auto"`` will probably choose for samples and a label matrix (CSR), from some of the samples."""
    model, samples = SDGSClassifier(random_state=0), ArraySamples(X)
    context = model._context(samples, labels)
    evaluator = CandidateEvaluator(samples, labels, context, PENALTIES[::2], PREVIEW_ROWS)
    return evaluator.best_scaling(suitable_scalings(samples.column_statistics), for_subspaces=True)


def warm_up(X: Any, *, robust: bool) -> None:
    """Compile what a fit to such samples runs, so that the time of a fit does not include it.

    ``robust``: whether a ``huber`` may be tried.
    """
    rng = np.random.default_rng(0)
    small, labels = rng.random((24, 6)), rng.random((24, 2)) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for huber in (None, 0.1) if robust or has_missing(X) else (None,):
            model = SDGSClassifier(2, huber=huber, cv=2, scaling="rows", random_state=0, n_jobs=2)
            model.fit(csr_array(small) if issparse(X) else small, labels)
