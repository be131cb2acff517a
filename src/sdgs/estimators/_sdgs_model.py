"""What SDGSClassifier and SDGSClassifierCV share: everything but how the parameters are found."""

import numbers
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if

from sdgs._utils._array_api import expit, namespace, on_host
from sdgs._utils._overflow import too_large_for_model
from sdgs._utils._progress import CallbackSupportMixin, Listener, Task, with_callbacks
from sdgs._utils._sample_weight import rows_with_weight
from sdgs._utils._threads import blas_on_one_thread, n_threads
from sdgs._utils._unobserved_labels import informative_rows, known_positives
from sdgs._utils._validation import (
    check_checkpoint,
    check_choice,
    check_int,
    check_n_jobs,
    check_seed,
)
from sdgs.estimators._assumed_labels import check_assumption, given_propensity
from sdgs.estimators._auditing import AuditingMixin
from sdgs.estimators._base import WeightedClassifier, lazy_for_distributed, reads_by_ridge
from sdgs.estimators._deciding import DecidingMixin
from sdgs.estimators._decision_parameters import (
    check_decision_parameters,
    check_thresholds,
    resolve_at_least_one,
    resolve_label_weight,
)
from sdgs.estimators._encoding import EncodingMixin
from sdgs.estimators._explaining import ExplainingMixin
from sdgs.estimators._prediction_explaining import PredictionExplainingMixin
from sdgs.readout._calibration import fit_calibration, label_probabilities
from sdgs.readout._decision import Decision, make_decision
from sdgs.readout._features import needs_cleaning
from sdgs.readout._out_of_fold import OutOfFold
from sdgs.readout._parameters import DecompositionOptions, PipelineParameters
from sdgs.readout._pipeline import FittedPipeline, ReadoutContext, fit_pipeline
from sdgs.readout._samples import ArraySamples, Samples
from sdgs.readout._scaling import SCALINGS, suitable_scalings
from sdgs.selection._candidate import CVResult
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._defaults import PENALTIES, PROPENSITY_ROWS, START_ALPHA, START_RANK
from sdgs.selection._folds import check_cv, restrict_splits, splits_of
from sdgs.selection._propensity import estimate_propensity

ESTIMATOR_SOLVERS = ("brp", "svd")  # "brp-fresh" of decompose is for reproducing the paper


class SDGSModel(
    DecidingMixin,
    EncodingMixin,
    AuditingMixin,
    ExplainingMixin,
    PredictionExplainingMixin,
    CallbackSupportMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    WeightedClassifier,
):
    """Base class. A subclass has the parameters named here, and implements ``_fit_samples``."""

    _public_module = "sdgs"
    _accepts_missing = True
    _accepts_unobserved_labels = True
    _accepts_devices = True
    _accepts_distributed = True
    _progress: Listener | None = None
    _task: Task
    _pipelines: list[FittedPipeline]
    propensity_: NDArray[np.float64] | None = None
    _splits: Any = None  # during a fit: the number of folds, or their rows
    readout = "ridge"

    scaling: str | None
    assume: str
    propensity: Any
    residual_size: int | float
    n_landmarks: int | str
    metric: str
    decision: Any
    at_least_one: Any
    label_weight: Any
    cv: Any
    solver: str
    max_iter: int
    tol: float
    random_state: Any
    n_jobs: int | None
    checkpoint: Any

    @with_callbacks  # type: ignore[untyped-decorator]
    @blas_on_one_thread()
    def _validate_and_fit(self, X: Any, y: Any, *sample_weight: Any) -> None:
        self._check_encode_of(X)
        callback_context = None
        if hasattr(self, "_init_callback_context"):  # scikit-learn 1.9; the two tasks are "choose" and "learn"
            callback_context = self._init_callback_context(max_subtasks=2)
            callback_context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        self._task = Task(self, callback_context)
        try:
            super()._validate_and_fit(X, y, *sample_weight)
        finally:
            del self._task
        if callback_context is not None:
            callback_context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})

    def _fit(self, X: Any, labels: Any, sample_weight: Any = None) -> None:
        """``X`` is an array, or the samples of a distributed one, which are not encoded."""
        if isinstance(X, Samples):
            self.encoder_ = None
        if self.assume == "missing" and self._is_multiclass:
            raise ValueError(
                'assume="missing" needs a label matrix or lists of labels: a 1-D y has one class per sample.'
            )
        check_thresholds(self.decision, labels.shape[1])
        resolve_label_weight(self.label_weight, labels)  # an error now, not after the training
        self._out_of_fold = None
        labels = labels.tocsr()
        self._splits = splits_of(self.cv, X, labels.indices if self._is_multiclass else known_positives(labels))
        samples: Samples = X if isinstance(X, Samples) else ArraySamples(X)
        if sample_weight is not None:
            samples = samples.weighted(sample_weight)
        # Nothing can be learnt from the others. Those of a Dask array stay, because selecting rows would move them.
        kept = informative_rows(labels, sample_weight) if isinstance(samples, ArraySamples) else None
        try:
            if kept is None:
                self._fit_samples(samples, labels)
            else:  # rows are counted as in X again below
                if not isinstance(self._splits, int):
                    self._splits = restrict_splits(self._splits, kept)
                self._fit_samples(samples.take(kept), labels[kept])
                self._restore_rows(kept, samples.shape[0])
        finally:
            del self._splits
        self._set_attributes(self._pipelines[0])

    def _restore_rows(self, rows: NDArray[np.intp], n: int) -> None:
        """Count samples as before some were left out: those of the model were ``rows`` of n."""
        self._pipelines = [pipeline.with_rows(rows, n) for pipeline in self._pipelines]
        if self._out_of_fold is not None:
            self._out_of_fold = replace(self._out_of_fold, rows=rows[self._out_of_fold.rows])

    def _fit_samples(self, samples: Samples, labels: Any) -> None:
        raise NotImplementedError

    def _context(self, samples: Samples, labels: Any) -> ReadoutContext:
        # One seed for everything random. An int is the seed of `decompose` itself.
        drawn = check_seed(self.random_state)
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else drawn
        options = DecompositionOptions(
            residual_size=self.residual_size,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            n_landmarks=self._max_landmarks(samples),
            seed=int(seed),
            n_jobs=n_threads(self.n_jobs),
            checkpoint=check_checkpoint(self.checkpoint, self.random_state),
        )
        mostly_zero = self.readout == "ridge" and samples.column_statistics.mostly_zero
        rows = rows_with_weight(samples.sample_weight)  # on Dask those of weight 0 are among the samples
        learnt = labels if rows is None else labels[rows]
        at_least_one = resolve_at_least_one(self.at_least_one, self.metric, learnt, assume=self.assume)
        decision = Decision(self.metric, top=1) if self._is_multiclass else Decision(self.metric, at_least_one)
        splits = self.cv if self._splits is None else self._splits
        context = ReadoutContext(options, mostly_zero, decision, splits)
        self.propensity_ = None
        if self.assume == "missing" and self.readout == "ridge":
            self.propensity_ = self._resolve_propensity(samples, labels, context)
        return replace(context, propensity=self.propensity_)

    def _resolve_propensity(self, samples: Samples, labels: Any, context: ReadoutContext) -> NDArray[np.float64]:
        """The given propensities, or an estimate that is the same for all labels."""
        if not isinstance(self.propensity, str):
            return given_propensity(self.propensity, labels.shape[1])
        scaling = suitable_scalings(samples.column_statistics)[0] if self.scaling == "auto" else self.scaling
        parameters = PipelineParameters(scaling, START_RANK, START_ALPHA)
        evaluator = CandidateEvaluator(samples, labels, context, PENALTIES, PROPENSITY_ROWS)
        return np.full(labels.shape[1], estimate_propensity(evaluator, parameters))

    def _max_landmarks(self, samples: Samples) -> int | str:  # noqa: ARG002
        """What :func:`sdgs.readout._landmark_kernel.landmark_number` takes."""
        return self.n_landmarks

    def _fit_pipelines(
        self, samples: Samples, labels: Any, context: ReadoutContext, results: list[CVResult], task: Task
    ) -> None:
        """Fit pipelines to all samples, and the calibration and the decision to their average cross-fitted scores."""
        self._pipelines = [
            fit_pipeline(samples, labels, result.parameters, context, result.choice)
            for result in task.each("candidate", results)
        ]
        rows = results[0].rows
        Y, sample_weight = labels[rows].toarray().astype(np.float64), samples.weights_of(rows)
        scores = np.mean([result.scores for result in results], axis=0)
        self._calibration = fit_calibration(scores, Y, sample_weight=sample_weight, propensity=context.propensity)
        log_odds = self._calibration.log_odds(scores)
        self._out_of_fold = OutOfFold(
            self._probabilities(log_odds).astype(np.float32), rows, np.flatnonzero(np.isnan(Y))
        )
        self._decision = make_decision(
            self.decision,
            self.metric,
            expit(log_odds),
            Y,
            at_least_one=context.decision.at_least_one,
            one_per_sample=self._is_multiclass,
            label_weight=resolve_label_weight(self.label_weight, labels, samples.sample_weight),
            sample_weight=sample_weight,
        )
        self.penalty_, self.read_from_ = results[0].choice.penalty, results[0].choice.read_from

    def _set_attributes(self, best: FittedPipeline) -> None:
        self.decomposition_ = best.features.decomposition
        self.components_ = self.decomposition_.components
        self.n_iter_ = self.decomposition_.n_iter
        self.scaling_, self.scaler_ = best.features.parameters.scaling, best.scaling.scaler
        self.huber_, self.gamma_ = best.features.parameters.huber, best.features.parameters.gamma

    @blas_on_one_thread()
    def _scores(self, X: Any) -> Any:
        """The log-odds of each label."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = sum(pipeline.scores(X, self.n_jobs) for pipeline in self._pipelines) / len(self._pipelines)
            log_odds = self._calibration.log_odds(scores)
        if on_host(log_odds) and not np.isfinite(log_odds).all():
            raise too_large_for_model("scores overflow")
        return log_odds

    def _probabilities(self, log_odds: Any) -> Any:
        return label_probabilities(log_odds, one_per_sample=self._is_multiclass)

    @available_if(reads_by_ridge("predict_proba"))  # type: ignore[untyped-decorator]
    @lazy_for_distributed
    def predict_proba(self, X: Any) -> Any:
        """The probability of each label; only with ``readout="ridge"``.

        Returns
        -------
        ndarray or DataFrame of shape (n, k)
            For a label matrix independent probabilities, one per label: a DataFrame with the columns of ``y`` (and the
            index of ``X`` if it is a DataFrame) if ``y`` was a DataFrame. For a 1-D target they sum to 1 in each row.
        """
        features = self._check_before_prediction(X)
        P = namespace(features).astype(self._probabilities(self._scores(features)), features.dtype)
        return self._with_names_of_target(P, X)

    @lazy_for_distributed
    @blas_on_one_thread()
    def transform(self, X: Any) -> Any:
        """Cleaned samples: corrupted entries corrected by the residual of ``huber``, missing ones filled by the code.

        Complete samples without ``huber`` stay as they are. For other estimators, which take no such data.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)

        Returns
        -------
        ndarray or csr_array of shape (n, p)
            In the units of ``X``; sparse if ``X`` is.
        """
        original = self._check_before_prediction(X)
        scaling, features = self._pipelines[0].scaling, self._pipelines[0].features
        X, norms = scaling.transform(original)
        if not needs_cleaning(X, features.parameters):
            return original.copy() if on_host(original) else namespace(original).asarray(original, copy=True)
        cleaned = scaling.inverse_transform(features.clean(X, self.n_jobs), norms)
        if issparse(original):
            return csr_array(cleaned).astype(original.dtype)
        return namespace(original).astype(cleaned, original.dtype)

    def _check_parameters(self) -> None:
        """Check what the subclasses share; before prediction too, because ``set_params`` may have changed them."""
        self._check_encode()
        check_assumption(self)
        check_choice(self.scaling, "scaling", ("auto", *SCALINGS))
        if isinstance(self.n_landmarks, str):
            check_choice(self.n_landmarks, "n_landmarks", ("auto",))
        else:
            check_int(self.n_landmarks, "n_landmarks", minimum=1)
        check_choice(self.solver, "solver", ESTIMATOR_SOLVERS)
        check_decision_parameters(self)
        check_cv(self.cv)
        check_n_jobs(self.n_jobs)
