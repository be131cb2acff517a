"""``update``: learning from more samples and labels after the fit."""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from sdgs._utils._array_api import expit, to_host
from sdgs._utils._array_backends import backend_of
from sdgs._utils._overflow import too_large_for_model
from sdgs._utils._progress import Task
from sdgs._utils._sample_weight import check_sample_weight, drop_zero_weights
from sdgs._utils._threads import blas_on_one_thread, n_threads
from sdgs._utils._unobserved_labels import check_observed_labels, has_unobserved
from sdgs._utils._validation import check_int
from sdgs.estimators._assumed_labels import given_propensity
from sdgs.estimators._base import reads_by_ridge
from sdgs.estimators._decision_parameters import check_thresholds, resolve_at_least_one, resolve_label_weight
from sdgs.estimators._later_target import add_label_names, later_labels
from sdgs.readout._calibration import fit_calibration
from sdgs.readout._decision import Decision, make_decision
from sdgs.readout._out_of_fold import OutOfFold
from sdgs.readout._pipeline import ReadoutContext
from sdgs.readout._sample_sums import KeptSamples, SampleSums, ScoredSamples, add_labels, join_weights
from sdgs.readout._samples import Samples
from sdgs.selection._candidate import CVResult
from sdgs.selection._defaults import PENALTIES
from sdgs.selection._update_sums import UpdateOptions, add_samples, sum_samples

Method = TypeVar("Method", bound=Callable[..., Any])


def atomic_update(update: Method) -> Method:
    """Decorator of ``update``: one that fails or is interrupted leaves the estimator as it was.

    The method runs on a copy with all attributes, whose state then replaces that of the estimator in one step.
    """

    @wraps(update)
    def wrapper(self: Any, *args: Any, **params: Any) -> Any:
        copy = object.__new__(type(self))
        copy.__dict__.update(vars(self))
        update(copy, *args, **params)
        self.__dict__ = copy.__dict__
        return self

    return cast(Method, wrapper)


class UpdatingMixin:
    """Mixin of SDGSClassifier: what ``fit`` keeps of the samples, and ``update``."""

    propensity_: NDArray[np.float64] | None
    _out_of_fold: OutOfFold | None
    keep_samples: int | None
    _kept: KeptSamples | SampleSums | None = None

    @available_if(reads_by_ridge("update"))  # type: ignore[untyped-decorator]
    @atomic_update
    @blas_on_one_thread()
    def update(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from more samples, and from labels that appear in them first; only with ``keep_samples``.

        As long as all samples learnt are kept, the result is that of ``fit`` to all of them, in the order in which they
        were learnt. The first time that they are more than ``keep_samples`` they are fitted to once more; from then on
        the model has sums over all samples in place of the samples. With these the ridge regression is exact; scaling,
        subspaces, landmarks and selected columns stay as they are, and calibration and decision are fitted to a random
        sample of scores. See docs/updating.md.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
            Samples with the features of ``fit``. A fitted ``encoder_`` stays as it is: words and categories that it
            does not know are left out.
        y : as for ``fit``
            In the form of the target of ``fit``. In a DataFrame columns are found by name. New names in a DataFrame, in
            lists of labels or among classes are new labels, which follow the known ones in ``classes_``; samples that
            were learnt before count as samples without them. A matrix must have the known labels. Unobserved labels
            (NaN) are taken as long as all samples are kept.
        sample_weight : array-like of shape (n,), optional
            As for ``fit``.

        Returns
        -------
        self
            If the update fails or is interrupted, the estimator stays as it was.
        """
        X = self._check_before_update(X)
        check_consistent_length(X, y)
        labels = later_labels(self, y)
        self._learn(KeptSamples(X, labels, check_sample_weight(sample_weight, labels.shape[0])))

    @atomic_update
    @blas_on_one_thread()
    def _update_by_matrix(
        self: Any, X: Any, labels: csr_array, new_names: Sequence[str], sample_weight: Any = None
    ) -> None:
        """The same for a label matrix whose last columns are new labels, whatever the form of the target of ``fit``."""
        X = self._check_before_update(X)
        labels = csr_array(check_observed_labels(labels, name="y", some_positive=False))
        add_label_names(self, new_names)
        self._learn(KeptSamples(X, labels, check_sample_weight(sample_weight, labels.shape[0])))

    @property
    def n_samples_seen_(self) -> int:
        """The number of samples that ``fit`` and ``update`` have learnt; only with ``keep_samples``."""
        if self._kept is None:
            raise AttributeError("the number of samples is known only with keep_samples.")
        return self._kept.n_samples

    def _check_before_update(self: Any, X: Any) -> Any:
        """Validated samples on the host, for a model that can be updated."""
        check_is_fitted(self)
        self._check_parameters()
        if self._kept is None:
            raise ValueError(
                "this model cannot be updated: it kept nothing of its training samples. Fit it with keep_samples, such "
                "as keep_samples=10_000."
            )
        if backend_of(X) is not None:
            raise ValueError("update takes no Dask arrays. Compute X and y first, or update with one part at a time.")
        return to_host(self._check_X(X, reset=False))

    def _learn(self: Any, new: KeptSamples) -> None:
        """Learn from more samples; labels beyond the known ones are new."""
        k, kept = new.labels.shape[1], self._kept
        if k > len(self.components_) and np.ndim(self.n_components):
            raise ValueError("n_components has one rank per known label, so that y can have no new labels.")
        check_thresholds(self.decision, k)
        if self.propensity_ is not None and not isinstance(self.propensity, str):
            given_propensity(self.propensity, k)  # an error where there is one per known label, and more labels
        if isinstance(kept, SampleSums):
            self._add(new)
            return
        X = np.vstack([kept.X, _in_form_of(kept.X, new.X)]) if not issparse(kept.X) else _stack(kept.X, new.X)
        labels = _with_columns(kept.labels, k)
        labels = _stack(labels.astype(new.labels.dtype) if labels.dtype == bool else labels, new.labels)
        sample_weight = join_weights(kept.sample_weight, kept.n_samples, new.sample_weight, new.n_samples)
        self._task = Task(self)
        try:
            self._fit(X, labels, sample_weight)
        finally:
            del self._task

    def _add(self: Any, new: KeptSamples) -> None:
        """Learn from more samples by the sums."""
        new = KeptSamples(*drop_zero_weights(new.X, new.labels, new.sample_weight))
        _reject_unobserved(new.labels)
        n_new_labels = new.labels.shape[1] - len(self.components_)
        if n_new_labels:
            warnings.warn(
                f"y has new labels ({n_new_labels}), and the model no longer keeps the samples learnt before. It reads "
                "these labels from the features that it has, which were chosen without them. Fit it again to all "
                "samples if the new labels are not predicted well enough.",
                UserWarning,
                stacklevel=6,
            )
        at_least_one = resolve_at_least_one(self.at_least_one, self.metric, new.labels, assume=self.assume)
        if self.at_least_one == "auto":
            at_least_one = at_least_one and self._decision.at_least_one
        penalties = PENALTIES if self.penalty_ in PENALTIES and self.penalty == "auto" else (self.penalty_,)
        compared = Decision(self.metric, top=1) if self._is_multiclass else Decision(self.metric, at_least_one)
        if self.propensity_ is not None:
            self.propensity_ = np.append(self.propensity_, np.full(n_new_labels, self.propensity_.mean()))
        options = UpdateOptions(penalties, compared, n_threads(self.n_jobs), self.propensity_)
        sums, pipeline = add_labels(self._kept, self._pipelines[0], n_new_labels)
        sums, pipeline, self.penalty_ = add_samples(sums, pipeline, self.penalty_, new, options)
        assert pipeline.ridge is not None
        if not np.isfinite(pipeline.ridge.coef).all():
            raise too_large_for_model("their squares overflow")
        scored = sums.scored
        scores, Y = scored.scores.astype(np.float64), scored.labels.toarray().astype(np.float64)
        calibration = fit_calibration(scores, Y, sample_weight=scored.sample_weight, propensity=self.propensity_)
        self._decision = make_decision(
            self.decision,
            self.metric,
            expit(calibration.log_odds(scores)),
            Y,
            at_least_one=at_least_one,
            one_per_sample=self._is_multiclass,
            label_weight=resolve_label_weight(self.label_weight, scored.labels, scored.sample_weight),
            sample_weight=scored.sample_weight,
        )
        self._calibration, self._pipelines, self._kept, self._out_of_fold = calibration, [pipeline], sums, None
        self._set_attributes(pipeline)

    def _known_out_of_fold(self: Any) -> OutOfFold:
        self._reject_forgotten_samples()
        known: OutOfFold = super()._known_out_of_fold()  # type: ignore[misc]
        return known

    def _training_labels(self: Any) -> Any:
        self._reject_forgotten_samples()
        return super()._training_labels()  # type: ignore[misc]

    def _reject_forgotten_samples(self) -> None:
        if self._out_of_fold is None and self._kept is not None:
            raise AttributeError(
                "there are no out-of-fold probabilities after an update of a model that has learnt more samples than "
                "it keeps (keep_samples). Pass X and y to suspicious_labels."
            )

    def _validate_and_fit(self: Any, X: Any, y: Any, *sample_weight: Any) -> None:
        if self.keep_samples is not None and backend_of(X) is not None:
            raise ValueError("keep_samples must be None for a Dask array, because such a model cannot be updated.")
        super()._validate_and_fit(X, y, *sample_weight)  # type: ignore[misc]

    def _fit(self: Any, X: Any, labels: Any, sample_weight: Any = None) -> None:
        keep, self._kept = self.keep_samples, None
        if keep is not None and labels.shape[0] > keep:
            _reject_unobserved(labels)
        super()._fit(X, labels, sample_weight)  # type: ignore[misc]
        if keep is not None and self._kept is None:
            # A copy, because validation may return the array that the user passed, and may change.
            self._kept = KeptSamples(to_host(X).copy(), labels.tocsr(), sample_weight)

    def _keep_sums(self: Any, samples: Samples, labels: Any, context: ReadoutContext, result: CVResult) -> None:
        """Keep sums over the samples that the model has just been fitted to, if they are too many to be kept."""
        if self.keep_samples is None or samples.shape[0] <= self.keep_samples:
            return
        scored = ScoredSamples(
            result.scores.astype(np.float32), labels[result.rows], samples.shape[0], samples.weights_of(result.rows)
        )
        kept = KeptSamples(to_host(samples.X), labels, samples.sample_weight)
        self._kept = sum_samples(self._pipelines[0], kept, scored, context)

    def _check_keep_samples(self: Any) -> None:
        if self.keep_samples is not None:
            check_int(self.keep_samples, "keep_samples", minimum=0)
            if self.readout == "norm":
                raise ValueError('keep_samples needs readout="ridge", because only such a model can be updated.')


def _reject_unobserved(labels: Any) -> None:
    if has_unobserved(labels):
        raise ValueError(
            "y has unobserved labels (NaN), which sums over samples cannot hold. Use a keep_samples of at least the "
            "number of all samples, or leave out the samples with NaN."
        )


def _in_form_of(like: Any, X: Any) -> Any:
    """Samples, dense or sparse and in the precision of others."""
    X = X.astype(like.dtype, copy=False)
    if issparse(like):
        return csr_array(X)
    return X.toarray() if issparse(X) else X


def _stack(A: Any, B: Any) -> csr_array:
    """The rows of two sparse matrices, with the dtype of the first."""
    return csr_array(vstack([A, _in_form_of(A, B)], format="csr"))


def _with_columns(labels: csr_array, k: int) -> csr_array:
    """A label matrix with k columns, the new ones without entries."""
    return csr_array((labels.data, labels.indices, labels.indptr), shape=(labels.shape[0], k))
