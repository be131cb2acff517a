"""What a fitted SDGS model does, however its parameters were found."""

import numbers
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import log_expit, softmax
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sdgs._utils._array_api import dispatched, expit, namespace, on_host, to_device_of, to_host
from sdgs._utils._progress import CallbackSupportMixin, Listener, Task, with_callbacks
from sdgs._utils._validation import (
    check_checkpoint,
    check_choice,
    check_int,
    check_labels,
    check_n_jobs,
    check_names,
    check_number,
    check_seed,
    on_workers,
)
from sdgs.estimators._base import MultiLabelClassifier, by_blocks
from sdgs.explanation import Explanation, Terms, explain_samples
from sdgs.persistence.codecs._model_codec import save_model
from sdgs.readout._calibration import calibrate, worth_of_samples
from sdgs.readout._decision import METRICS, RULES, Decision, tuned_decision
from sdgs.readout._features import DecompositionOptions, PipelineParameters, fit_features, is_dirty
from sdgs.readout._pipeline import FittedPipeline
from sdgs.readout._ridge import regression
from sdgs.readout._scaling import SCALINGS, Scaling, learn_scaling, mostly_zero, unit_of
from sdgs.selection._cross_fit import CandidateEvaluator, CVResult

# What the ridge penalty is chosen from; for samples of unit norm.
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def _reads_by_ridge(model: "SDGSModel") -> bool:
    if model.readout != "ridge":
        raise AttributeError('predict_proba needs readout="ridge".')
    return True


class SDGSModel(CallbackSupportMixin, OneToOneFeatureMixin, TransformerMixin, MultiLabelClassifier):
    """Base of the classifiers. A subclass has the parameters that are named here and finds the settings."""

    _public_module = "sdgs"
    _missing_values = True
    _any_array = True
    _takes_blocks = True
    _progress: Listener | None = None
    _task: Task
    readout = "ridge"

    scaling: str | None
    residual_size: int | float
    n_landmarks: int | str
    metric: str
    decision: Any
    at_least_one: Any
    cv: int
    solver: str
    max_iter: int
    tol: float
    random_state: Any
    n_jobs: int | None
    checkpoint: Any

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        context = None
        if hasattr(self, "_init_callback_context"):  # scikit-learn 1.9: choosing parameters, then learning with them
            context = self._init_callback_context(max_subtasks=2)
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        self._task = Task(self, context)
        try:
            super().fit(X, y)
        finally:
            del self._task
        if context is not None:
            context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    fit.__doc__ = MultiLabelClassifier.fit.__doc__

    def _training(self) -> DecompositionOptions:
        # One seed for all that is random; an int is that of `decompose` itself.
        drawn = check_seed(self.random_state)
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else drawn
        return DecompositionOptions(
            residual_size=self.residual_size,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            n_landmarks=self.n_landmarks,
            seed=int(seed),
            n_jobs=self.n_jobs,
            checkpoint=check_checkpoint(self.checkpoint, self.random_state),
        )

    def _cross_fit(
        self,
        X: Any,
        labels: Any,
        scalings: Callable[[str | None], Scaling],
        training: DecompositionOptions,
        penalties: Sequence[float],
        **options: Any,
    ) -> CandidateEvaluator:
        return CandidateEvaluator(
            X,
            labels,
            scalings,
            training,
            penalties=penalties,
            n_folds=self.cv,
            decision=self._expected_best(labels),
            **options,
        )

    def _expected_best(self, labels: Any) -> Decision:
        """What is decided by while there is nothing else to go by."""
        if self._one_class_a_sample:
            return Decision(self.metric, top=1)
        return Decision(self.metric, self._gives_at_least_one(labels))

    def _check_thresholds(self, n_labels: int) -> None:
        if not isinstance(self.decision, str) and np.shape(self.decision) not in ((), (n_labels,)):
            raise ValueError(f"decision must be one threshold, or one for each of the {n_labels} labels.")

    def _gives_at_least_one(self, labels: Any) -> bool:
        """Whether a sample gets its most probable label if it would get none."""
        if self.at_least_one != "auto":
            return bool(self.at_least_one)
        return self.metric != "hamming_loss" and bool((labels.tocsr().sum(axis=1) > 0).all())

    def _read_out(
        self,
        X: Any,
        labels: Any,
        scalings: Callable[[str | None], Scaling],
        training: DecompositionOptions,
        trials: list[CVResult],
        task: Task,
    ) -> None:
        """Learn the members from all samples, and how to calibrate and decide on what they say on average."""
        self._members = []
        for trial in task.each("setting", trials):
            scaling = scalings(trial.setting.scaling)
            self._members.append(self._member(X, labels, scaling, trial.setting, training, trial))
        Y = labels[trials[0].rows].toarray().astype(np.float64)
        scores = np.mean([trial.scores for trial in trials], axis=0)
        self._calibration = calibrate(scores, Y)
        at_least_one = self._gives_at_least_one(labels)
        if self._one_class_a_sample:
            self._decision = self._expected_best(labels)
        elif isinstance(self.decision, str):
            P = self._calibration.probabilities(scores)
            self._decision = tuned_decision(self.decision, self.metric, P, Y, at_least_one=at_least_one)
        elif isinstance(self.decision, numbers.Integral):
            self._decision = Decision(self.metric, top=int(self.decision))
        else:
            thresholds = np.asarray(self.decision, dtype=np.float64)
            self._decision = Decision(self.metric, at_least_one, thresholds=thresholds)
        self.penalty_, self.read_from_ = trials[0].penalty, trials[0].read_from

    def _member(
        self,
        X: Any,
        labels: Any,
        scaling: Scaling,
        setting: PipelineParameters,
        training: DecompositionOptions,
        trial: CVResult | None = None,
    ) -> FittedPipeline:
        """A view of a setting, learnt from all samples; and if it was tried out, how labels are read from it."""
        if on_workers(X):
            read = None if trial is None else (trial.penalty, trial.read_from, trial.partiality)
            worth = worth_of_samples(labels, self.metric) if mostly_zero(X) else None
            member: FittedPipeline = X.learn_member(labels, scaling, setting, training, read, worth)
            return member
        scaled, norms = scaling(X)
        view = fit_features(scaled, labels, setting, training, norms=norms)
        ridge = None
        if trial is not None:
            width = view.width(trial.read_from)
            blocks = view.blocks(scaled, self.n_jobs, norms, width)
            weighed, worth = None, None
            if mostly_zero(X):
                weighed, worth = view.place("sample"), worth_of_samples(labels, self.metric)
            learnt = regression(blocks, labels, [width], weighed, view.kernels, worth)
            ridge = learnt.ridge(trial.penalty, width, trial.partiality)
        return FittedPipeline(scaling, view.finished(), ridge)

    def _set_attributes(self) -> None:
        """What the first member, the best one, was learnt with."""
        first = self._members[0]
        self.decomposition_ = first.view.decomposition
        self.components_ = self.decomposition_.components
        self.n_iter_ = self.decomposition_.n_iter
        self.scaling_, self.scaler_ = first.view.setting.scaling, first.scaling.scaler
        self.huber_ = first.view.setting.huber

    def _scores(self, X: Any) -> Any:
        """The log-odds of each label."""
        scores = sum(member.scores(X, self.n_jobs) for member in self._members) / len(self._members)
        return self._calibration.log_odds(scores)

    def _positive(self, scores: Any) -> Any:
        return self._decision.labels(expit(scores))

    @available_if(_reads_by_ridge)  # type: ignore[untyped-decorator]
    @by_blocks
    def predict_proba(self, X: Any) -> Any:
        """Probability of each label; only with ``readout="ridge"``.

        Returns
        -------
        ndarray of shape (n, k)
            For a label matrix one probability a label, each on its own. For a 1-D target they sum to 1 in each row.
        """
        check_is_fitted(self)
        self._check_parameters()
        X = self._check_X(X, reset=False)
        return namespace(X).astype(self._probabilities(self._scores(X)), X.dtype)

    @by_blocks
    def transform(self, X: Any) -> Any:
        """Samples cleaned: corrupted entries corrected by ``huber``'s residual, missing ones filled in by the code.

        With complete samples and without ``huber`` it changes nothing. For other estimators that take no dirty data.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)

        Returns
        -------
        ndarray or csr_array of shape (n, p)
            In the units of ``X``; sparse if ``X`` is.
        """
        check_is_fitted(self)
        self._check_parameters()
        features = self._check_X(X, reset=False)
        scaling, view = self._members[0].scaling, self._members[0].view
        X, norms = scaling(features)
        if not is_dirty(X, view.setting):
            return features.copy() if on_host(features) else namespace(features).asarray(features, copy=True)
        cleaned = scaling.undone(view.cleaned(X, self.n_jobs), norms)
        if issparse(features):
            return csr_array(cleaned).astype(features.dtype)
        return namespace(features).astype(cleaned, features.dtype)

    def contributions(self, X: Any, labels: Any = None) -> NDArray[Any]:
        """What each label contributes to each sample, in the units of ``X``.

        The sample is taken apart over the subspaces of its labels alone, by least squares: the code that the labels are
        read from is shrunk towards zero by ``alpha``, these parts are not. ``X - contributions(X).sum(axis=1)`` is the
        residual, what those labels do not explain. Where columns were standardised (``scaler_`` has a ``mean_``) the
        parts are of the sample less that mean, and with ``huber`` of the sample less what looks corrupted. Meant for a
        look at some samples: the result is dense. :meth:`explain` says more, and takes less memory.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        labels : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
            The labels to take each sample apart into; for a model of a 1-D target also one class a sample. Default:
            the predicted labels; for a 1-D target with ``readout="norm"`` every class with any evidence.

        Returns
        -------
        ndarray of shape (n, k, p)
        """
        return self._explained(X, labels, None, None, scored=labels is None).contributions()

    def explain(self, X: Any, labels: Any = None, *, feature_names: Any = None, label_names: Any = None) -> Explanation:
        r"""Take samples apart: what each label contributes, its share, and what the residual says.

        ``baseline + contributions + residual`` is the sample, entry by entry. The baseline is the mean of standardised
        columns and zero elsewhere. Contributions are least-squares parts in the subspaces of the labels, see
        :meth:`contributions`. The residual is 0 where an entry is missing: there the sum is what the labels say. With
        ``huber`` the part of it that looks corrupted is told apart.

        It explains the *sample* by its labels, not the probabilities: those are read from the sample and its code
        together, or from as much of that as it takes, by a regression that knows all labels.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        labels : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
            The labels to take each sample apart into; for a model of a 1-D target also one class a sample. Default:
            the predicted labels; for a 1-D target with ``readout="norm"`` every class with any evidence.
        feature_names : array-like of shape (p,), optional
            Default: ``feature_names_in_`` if there are any, else ``x0``, ``x1`` and so on.
        label_names : array-like of shape (k,), optional
            Default: ``classes_``.

        Returns
        -------
        Explanation
            A sequence with one explanation a sample.

        Notes
        -----
        Shares are of the energy of a sample, :math:`\|z\|^2`, where z is the sample as the model sees it: less the
        baseline, columns weighted, without what looks corrupted and what is missing. With parts :math:`l_i` that of
        label i is :math:`\langle l_i, z \rangle / \|z\|^2`: shares and that of the rest,
        :math:`\|z - \sum_i l_i\|^2 / \|z\|^2`, sum to 1. Where subspaces overlap, what two labels have in common is
        split evenly; a label that only takes away from others has a negative share. ``unique_shares`` are what
        only that label explains.

        With several averaged settings (:class:`sdgs.SDGSClassifierCV`) the first one, the best, takes samples apart.
        """
        return self._explained(X, labels, feature_names, label_names, scored=True)

    def _explained(self, X: Any, labels: Any, feature_names: Any, label_names: Any, *, scored: bool) -> Explanation:
        """``scored``: whether to look at the evidence for labels, for which are predicted and how probable they are."""
        check_is_fitted(self)
        self._check_parameters()
        features = to_host(self._check_X(X, reset=False))  # a look at some samples
        p, k = features.shape[1], len(self.components_)
        scores = self._scores(features) if scored else None
        probabilities = None if scores is None or self.readout == "norm" else self._probabilities(scores)
        scaler, unit = self.scaler_, np.ones(p) * unit_of(self.scaler_)
        terms = Terms(
            check_names(label_names, "label_names", k, self.classes_),
            check_names(feature_names, "feature_names", p, getattr(self, "feature_names_in_", None)),
            self.components_,
            np.asarray(scaler.mean_, dtype=np.float64) if isinstance(scaler, StandardScaler) else None,
            unit,
        )
        return explain_samples(
            features,
            self._labels_to_explain(features, labels, scores),
            terms,
            probabilities=probabilities,
            corruption=self._corruption(features, unit),
            names=list(X.index) if hasattr(X, "iloc") else range(features.shape[0]),
        )

    def _labels_to_explain(self, features: Any, labels: Any, scores: NDArray[Any] | None) -> NDArray[np.bool_]:
        if labels is None:
            assert scores is not None
            some = self._one_class_a_sample and self.readout == "norm"
            return np.asarray(scores > 0 if some else self._positive(scores))
        if self._one_class_a_sample and np.ndim(labels) == 1:
            labels = (to_host(labels) if dispatched(labels) else np.asarray(labels))[:, None] == self.classes_
        chosen = check_labels(labels, n_samples=features.shape[0], name="labels", some_positive=False)
        k = len(self.components_)
        if chosen.shape[1] != k:
            raise ValueError(f"labels must have one column for each of the {k} labels, got {chosen.shape[1]}.")
        return np.asarray(chosen.toarray())

    def _corruption(self, features: Any, unit: NDArray[np.float64]) -> csr_array | None:
        """What looks corrupted, in the units of the features; None without ``huber``."""
        scaling, view = self._members[0].scaling, self._members[0].view
        if view.setting.huber is None:
            return None
        X, norms = scaling(features)
        residual = view.codes(X, self.n_jobs).residual
        assert residual is not None
        return csr_array(residual * norms[:, None] * unit).astype(features.dtype)

    def _probabilities(self, log_odds: Any) -> Any:
        if not self._one_class_a_sample:
            return expit(log_odds)
        P = softmax(log_expit(to_host(log_odds)), axis=1)  # one column a class: little to carry
        return to_device_of(P, log_odds)

    def save(self, path: str | Path, *, feature_names: Any = None, label_names: Any = None) -> None:
        """Write the fitted model to one file, which :func:`sdgs.load` reads; no pickle.

        The loaded model has the same parameters and the same fitted attributes, and predicts the same to the last
        digit. The file appears whole or not at all, and replaces one of the same name.

        Parameters
        ----------
        path : str or Path
            By custom it ends in ``.sdgs``.
        feature_names, label_names : sequence of str, optional
            Names for the columns of ``X`` and ``y`` where those had none, for they were arrays. The loaded model has
            them as ``feature_names_`` and ``label_names_``, and keeps them when it is saved again. ``sdgs predict``
            finds columns by them.

        Raises
        ------
        ModelFileError
            If the file could not hold all of the model: a class of one's own, classes or column names that are neither
            strings nor numbers, columns of ``y`` with an unusual dtype.

        Notes
        -----
        docs/model-format.md says what is in the file. A ``RandomState`` as ``random_state`` is not stored, nor is
        ``checkpoint``: the loaded model has None for them, which matters only if it is fitted again. There is a warning
        for the former.
        """
        check_is_fitted(self)
        self._check_parameters()
        names = {
            "features": getattr(self, "feature_names_", None) if feature_names is None else feature_names,
            "labels": getattr(self, "label_names_", None) if label_names is None else label_names,
        }
        save_model(self, Path(path), names)

    def _check_parameters(self) -> None:
        """What is common; also before prediction, for ``set_params`` may have come in between."""
        check_choice(self.scaling, "scaling", ("auto", *SCALINGS))
        if isinstance(self.n_landmarks, str):
            check_choice(self.n_landmarks, "n_landmarks", ("auto",))
        else:
            check_int(self.n_landmarks, "n_landmarks", minimum=1)
        check_choice(self.metric, "metric", METRICS)
        check_choice(self.at_least_one, "at_least_one", ("auto", True, False))
        check_int(self.cv, "cv", minimum=2)
        check_n_jobs(self.n_jobs)
        _check_decision(self.decision)


def _check_decision(decision: Any) -> None:
    if isinstance(decision, str):
        check_choice(decision, "decision", RULES)
    elif isinstance(decision, numbers.Integral):
        check_int(decision, "decision", minimum=1)
    else:
        for threshold in np.ravel(decision):
            if check_number(threshold, "decision") > 1:
                raise ValueError(f"decision must be a probability where it is a threshold, got {threshold!r}.")


def scalings_of(X: Any) -> Callable[[str | None], Scaling]:
    """The scalings of ``X``, each learnt when it is first asked for."""
    return cache(lambda how: learn_scaling(X, how))
