"""The estimators of scikit-learn that a model file can hold, with what they have fitted, and what must be true of it.

An entry names the module of a class and its fitted attributes as fields. Sizes that are not declared elsewhere: ``c``
is the number of classes. ``check_parameters`` raises an error for parameters that a file cannot have, ``finish`` checks
what attributes must satisfy together, and sets those that follow from others; ``optional`` attributes need not be
there. What concerns the training alone, as out-of-bag scores do, is not stored.
"""

import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer

from sdgs._utils._last_step import last_step, number_of_features
from sdgs.persistence._container import ModelFileError
from sdgs.persistence.codecs._json_values import is_name
from sdgs.persistence.codecs._stored_fields import (
    INTEGER,
    NUMBER,
    ArrayField,
    ChoiceField,
    ClassesField,
    EitherField,
    EstimatorField,
    Field,
    FlagField,
    ListField,
    NumberOrField,
    OptionalField,
    Output,
    RecordField,
    SamplesField,
    Source,
)
from sdgs.persistence.codecs._tree_fields import ForestField, TreeField, finish_forest, finish_tree

_METRICS = ("minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine")
_LARGEST_LOG = -1e-15  # of a probability below 1, of which 1 - exp(log) is positive
_SOLVERS = ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


def _nothing(estimator: Any, sizes: Any = None) -> None:
    """No further check."""


@dataclass(frozen=True)
class Learner:
    """A class of scikit-learn: see the module."""

    module: str
    attributes: Mapping[str, Field]
    finish: Callable[[Any, dict[str, Any]], None] = _nothing
    check_parameters: Callable[[Any], None] = _nothing
    optional: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepsField:
    """The steps of a pipeline."""

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """Pairs of a name and an estimator, "passthrough" or null."""
        return [
            [key, step if step is None or isinstance(step, str) else output.encode_estimator(step, f"{name}.{i}.")]
            for i, (key, step) in enumerate(value)
        ]

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The steps after all checks."""
        if not isinstance(content, list) or not content or not all(map(_is_pair, content)):
            raise ValueError(f"{name} are not pairs of a name and an estimator.")
        names = [key for key, _ in content]
        if len(set(names)) < len(names) or any("__" in key for key in names):
            raise ValueError(f"{name} have a name that occurs twice or contains '__'.")
        return [
            (key, step if step in (None, "passthrough") else source.decode_estimator(step, f"{name}.{i}."))
            for i, (key, step) in enumerate(content)
        ]


def _is_pair(step: Any) -> bool:
    return isinstance(step, list) and len(step) == 2 and is_name(step[0])


@dataclass(frozen=True)
class DtypeField:
    """The dtype of an array of floats."""

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """Its name."""
        if str(value) not in ("float64", "float32"):
            raise ModelFileError(f"{name} of {output.what} is {value}; a model file holds float64 and float32 there.")
        return str(value)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The dtype."""
        return np.dtype(ChoiceField(("float64", "float32")).decode(content, name, source))


@dataclass(frozen=True)
class StatisticsField:
    """What an imputer replaces missing entries by: numbers, also in an array of objects; NaN for columns it drops."""

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """The dtype in memory; the array itself goes to the arrays."""
        if value.dtype != object:
            return _STATISTICS.encode(value, name, output)
        if not all(isinstance(one, numbers.Real) for one in value):
            raise ModelFileError(f"{name} of {output.what} are not numbers, which a model file does not hold.")
        _STATISTICS.encode(value.astype(np.float64), name, output)
        return "object"

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The array after all checks."""
        if content != "object":
            return _STATISTICS.decode(content, name, source)
        return _STATISTICS.decode("float64", name, source).astype(object)


_STATISTICS = ArrayField("f", ("p",), nan=True)


def n_scores(estimator: Any) -> int:
    """For how many classes, or labels of a label matrix, a fitted classifier returns scores."""
    model = last_step(estimator)
    if not hasattr(model, "predict_proba") and not hasattr(model, "decision_function"):
        raise ValueError(f"a {type(model).__name__} in it, which gives no scores, is in the place of a classifier.")
    if not hasattr(model, "classes_"):
        return 2  # scikit-learn's _ConstantPredictor
    if isinstance(model.classes_, list) and any(len(classes) != 2 for classes in model.classes_):
        raise ValueError(f"a {type(model).__name__} in it has an output without two classes.")
    return len(model.classes_)


def n_outputs(estimator: Any, p: int) -> int:
    """The number of features that a fitted transformer makes of ``p``."""
    if estimator is None or isinstance(estimator, str):
        return p
    if isinstance(estimator, Pipeline):
        return reduce(lambda width, step: n_outputs(step[1], width), estimator.steps, p)
    if not hasattr(estimator, "transform") or number_of_features(estimator) != p:
        raise ValueError(f"a {type(estimator).__name__} in it does not transform samples of {p} features.")
    if type(estimator).__name__ == "SimpleImputer" and not estimator.keep_empty_features:
        return int(np.count_nonzero(~np.isnan(estimator.statistics_.astype(np.float64))))
    return int(getattr(estimator, "_n_features_out", p))


def _binarizer(neg_label: int, sparse_output: bool) -> RecordField:
    """The LabelBinarizer of a classifier."""

    def make(**fitted: Any) -> LabelBinarizer:
        binarizer = LabelBinarizer(neg_label=neg_label, sparse_output=sparse_output)
        for name, value in fitted.items():
            setattr(binarizer, name, value)
        return binarizer

    kinds = ChoiceField(("binary", "multiclass", "multilabel-indicator"))
    return RecordField(make, {"y_type_": kinds, "sparse_input_": FlagField(), "classes_": ClassesField()})


def _check_linear(model: Any, sizes: dict[str, Any]) -> None:
    """Two classes have one row of coefficients."""
    if sizes["r"] != (1 if sizes["c"] == 2 else sizes["c"]):
        raise ValueError(f"coef_ of a {type(model).__name__} in it has a wrong number of rows.")


def _finish_binarized(model: Any, sizes: dict[str, Any], binarizer: LabelBinarizer) -> None:
    """Check the rows by the kind of target, and set ``classes_`` where it is not a property."""
    if not binarizer.y_type_.startswith("multilabel"):
        _check_linear(model, {"r": 1, **sizes})
    elif sizes.get("r") != sizes["c"]:
        raise ValueError(f"a {type(model).__name__} in it has a wrong number of labels.")
    if not isinstance(getattr(type(model), "classes_", None), property):
        model.classes_ = binarizer.classes_


def _finish_ridge(model: Any, sizes: dict[str, Any]) -> None:
    _finish_binarized(model, sizes, model._label_binarizer)


def _finish_one_vs_rest(model: Any, sizes: dict[str, Any]) -> None:
    _finish_binarized(model, sizes, model.label_binarizer_)
    _check_parts(model.estimators_, sizes["p"])
    several = [isinstance(getattr(last_step(one), "classes_", None), list) for one in model.estimators_]
    if any(several) or any(n_scores(one) != 2 for one in model.estimators_):
        raise ValueError("a OneVsRestClassifier in it has an estimator of other than two classes.")


def _finish_multi_output(model: Any, sizes: dict[str, Any]) -> None:
    _check_parts(model.estimators_, sizes["p"])
    if not model.estimators_ or any(isinstance(last_step(one).classes_, list) for one in model.estimators_):
        raise ValueError("a MultiOutputClassifier in it has no estimators, or one of several outputs.")
    model.classes_ = [one.classes_ for one in model.estimators_]


def _check_parts(estimators: Any, p: int) -> None:
    if any(number_of_features(one) != p for one in estimators):
        raise ValueError("estimators in it have different numbers of features.")
    for one in estimators:
        n_scores(one)


def _check_metric(model: Any) -> None:
    if model.metric not in _METRICS or model.metric_params is not None:
        raise ValueError(
            f"metric of a {type(model).__name__} in a model file must be one of {', '.join(_METRICS)}, without "
            "metric_params."
        )


def _finish_neighbors(model: Any, sizes: dict[str, Any]) -> None:
    """Sort the training samples into their tree again, which has the same result."""
    X, y = model._fit_X, getattr(model, "_y", None)
    if isinstance(model.n_neighbors, numbers.Integral) and model.n_neighbors > sizes["n"]:
        raise ValueError("a search for neighbours in it has fewer samples than n_neighbors.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the algorithm, which were given at the fit
        if y is None:
            model.fit(X)
            return
        classes = model.classes_
        columns = np.atleast_2d(y.T)
        each = classes if isinstance(classes, list) else [classes]
        if len(each) != len(columns) or (y.ndim == 2) != isinstance(classes, list):
            raise ValueError("a KNeighborsClassifier in it has other classes than outputs.")
        for codes, names in zip(columns, each, strict=True):
            if not np.array_equal(np.unique(codes), np.arange(names.size)) or (np.sort(names) != names).any():
                raise ValueError("a KNeighborsClassifier in it has classes that are not those of its samples.")
        model.fit(X, y)  # not to the names, of which a text of any length would be repeated for each sample
        model.classes_ = classes


def _check_standard_scaler(model: Any, sizes: Any) -> None:  # noqa: ARG001
    if (model.with_mean and model.mean_ is None) or (model.with_std and model.scale_ is None):
        raise ValueError("a StandardScaler in it has no mean_ or no scale_.")


def _check_idf(model: Any, sizes: Any) -> None:  # noqa: ARG001
    if model.use_idf != ("idf_" in vars(model) or "_idf_diag" in vars(model)):
        raise ValueError("a TfidfTransformer in it must have idf_ if and only if use_idf is true.")


def _check_imputer(model: Any) -> None:
    if model.add_indicator:
        raise ValueError("a SimpleImputer in a model file must have add_indicator=False.")


def _finish_imputer(model: Any, sizes: Any) -> None:  # noqa: ARG001
    model.indicator_ = None


def _check_steps(pipeline: Any, sizes: dict[str, Any]) -> None:
    width = reduce(lambda width, step: n_outputs(step[1], width), pipeline.steps[:-1], sizes["p"])
    last = pipeline.steps[-1][1]
    if last is not None and not isinstance(last, str) and number_of_features(last) != width:
        raise ValueError("a Pipeline in it has a last step for another number of features than it gets.")


_COUNTS = {"n_samples_seen_": NumberOrField(ArrayField("fi", ("p",), low=0))}
_LINEAR: dict[str, Field] = {
    "classes_": ClassesField(),
    "coef_": ArrayField("f", ("r", "p")),
    "intercept_": NumberOrField(ArrayField("f", ("r",))),  # a number without an intercept
    "n_iter_": NumberOrField(ArrayField("i", (None,))),
}
_NAIVE_BAYES: dict[str, Field] = {
    "classes_": ClassesField(),
    "class_count_": ArrayField("f", ("c",), low=0),
    "feature_count_": ArrayField("f", ("c", "p")),
    "feature_log_prob_": ArrayField("f", ("c", "p")),
    "class_log_prior_": ArrayField("f", ("c",)),
}
_FOREST: dict[str, Field] = {"classes_": ClassesField(several=True), "estimators_": ForestField()}
_LINEAR_MODULE, _PREPROCESSING = "sklearn.linear_model", "sklearn.preprocessing"
_STOCHASTIC = Learner(
    _LINEAR_MODULE, {**_LINEAR, "n_iter_": INTEGER, "t_": NUMBER}, _check_linear, optional=("n_iter_", "t_")
)
_FOREST_ENTRY = Learner("sklearn.ensemble", _FOREST, finish_forest)
_TREE_ENTRY = Learner(
    "sklearn.tree",
    {"classes_": ClassesField(several=True), "max_features_": INTEGER, "tree_": TreeField()},
    finish_tree,
)
_COUNT_ENTRY = Learner("sklearn.naive_bayes", _NAIVE_BAYES)

LEARNERS: dict[str, Learner] = {
    "LogisticRegression": Learner(_LINEAR_MODULE, _LINEAR, _check_linear, optional=("n_iter_",)),
    "LinearSVC": Learner("sklearn.svm", {**_LINEAR, "n_iter_": INTEGER}, _check_linear, optional=("n_iter_",)),
    "SGDClassifier": _STOCHASTIC,
    "Perceptron": _STOCHASTIC,
    "RidgeClassifier": Learner(
        _LINEAR_MODULE,
        {
            "_label_binarizer": _binarizer(-1, sparse_output=False),
            "coef_": EitherField((ArrayField("f", ("r", "p")), ArrayField("f", ("p",)))),  # (p,) for two classes
            "intercept_": _LINEAR["intercept_"],
            "n_iter_": OptionalField(ArrayField("i", (None,))),
            "solver_": ChoiceField(_SOLVERS),
        },
        _finish_ridge,
        optional=("n_iter_", "solver_"),
    ),
    "GaussianNB": Learner(
        "sklearn.naive_bayes",
        {
            "classes_": ClassesField(),
            "theta_": ArrayField("f", ("c", "p")),
            "var_": ArrayField("f", ("c", "p"), positive=True),
            "class_count_": ArrayField("f", ("c",), low=0),
            "class_prior_": ArrayField("f", ("c",), low=0, high=1),
            "epsilon_": NUMBER,
        },
    ),
    "MultinomialNB": _COUNT_ENTRY,
    "BernoulliNB": Learner(
        "sklearn.naive_bayes", {**_NAIVE_BAYES, "feature_log_prob_": ArrayField("f", ("c", "p"), high=_LARGEST_LOG)}
    ),
    "ComplementNB": Learner("sklearn.naive_bayes", {**_NAIVE_BAYES, "feature_all_": ArrayField("f", ("p",))}),
    "KNeighborsClassifier": Learner(
        "sklearn.neighbors",
        {
            "_fit_X": SamplesField(("n", "p")),
            "classes_": ClassesField(several=True),
            "_y": EitherField((ArrayField("i", ("n",)), ArrayField("i", ("n", None)))),
        },
        _finish_neighbors,
        _check_metric,
    ),
    "NearestNeighbors": Learner(
        "sklearn.neighbors", {"_fit_X": SamplesField(("n", "p"))}, _finish_neighbors, _check_metric
    ),
    "DecisionTreeClassifier": _TREE_ENTRY,
    "ExtraTreeClassifier": _TREE_ENTRY,
    "RandomForestClassifier": _FOREST_ENTRY,
    "ExtraTreesClassifier": _FOREST_ENTRY,
    "StandardScaler": Learner(
        _PREPROCESSING,
        {
            "mean_": OptionalField(ArrayField("f", ("p",))),
            "var_": OptionalField(ArrayField("f", ("p",), nan=True)),  # NaN for a column without entries
            "scale_": OptionalField(ArrayField("f", ("p",), positive=True)),
            **_COUNTS,
        },
        _check_standard_scaler,
    ),
    "MaxAbsScaler": Learner(
        _PREPROCESSING,
        {"max_abs_": ArrayField("f", ("p",), low=0), "scale_": ArrayField("f", ("p",), positive=True), **_COUNTS},
    ),
    "MinMaxScaler": Learner(
        _PREPROCESSING,
        {
            **{name: ArrayField("f", ("p",)) for name in ("min_", "scale_", "data_min_", "data_max_", "data_range_")},
            **_COUNTS,
        },
    ),
    "Normalizer": Learner(_PREPROCESSING, {}),
    "SimpleImputer": Learner(
        "sklearn.impute",
        {"statistics_": StatisticsField(), "_fit_dtype": DtypeField(), "_fill_dtype": DtypeField()},
        _finish_imputer,
        _check_imputer,
        optional=("_fill_dtype",),
    ),
    "TfidfTransformer": Learner(
        "sklearn.feature_extraction.text", {"idf_": ArrayField("f", ("p",))}, _check_idf, optional=("idf_",)
    ),
    "OneVsRestClassifier": Learner(
        "sklearn.multiclass",
        {"label_binarizer_": _binarizer(0, sparse_output=True), "estimators_": ListField(EstimatorField(), "r")},
        _finish_one_vs_rest,
    ),
    "_ConstantPredictor": Learner("sklearn.multiclass", {"y_": ArrayField("i", (1,), low=0, high=1)}),
    "MultiOutputClassifier": Learner(
        "sklearn.multioutput", {"estimators_": ListField(EstimatorField())}, _finish_multi_output
    ),
    "Pipeline": Learner("sklearn.pipeline", {"steps": StepsField()}, _check_steps),
}
INNER = ("NearestNeighbors", "_ConstantPredictor")  # that only occur inside of others
