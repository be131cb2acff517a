"""Files whose learners could not predict, or would lead scikit-learn out of its arrays, are rejected."""

import tracemalloc

import numpy as np
import pytest
from model_file_helpers import forge
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import sdgs
from sdgs import DecisionClassifier, ModelFileError
from sdgs.methods import HierarchicalRelevance

LEARNER = "_tree.learners.0.estimator."
SCORER = "_scorers.0.estimator."


def per_label(learner):
    return HierarchicalRelevance(learner)


def all_labels(learner):
    return DecisionClassifier(learner, cv=2, random_state=0)


def learner_in(document):
    """The learner of the first label, or the one of all labels, as JSON."""
    attributes = document["attributes"]
    return (attributes["_tree"]["learners"] if "_tree" in attributes else attributes["_scorers"])[0]["estimator"]


def change_fields(**fields):
    return lambda document, _: learner_in(document).update(fields)


def change_attributes(**attributes):
    return lambda document, _: learner_in(document)["attributes"].update(attributes)


def change_parameters(**parameters):
    return lambda document, _: learner_in(document)["parameters"].update(parameters)


def set_entry(name, index, value, prefix=LEARNER):
    def change(_, arrays):
        arrays[prefix + name] = arrays[prefix + name].copy()
        arrays[prefix + name][index] = value

    return change


def set_array(name, value, prefix=LEARNER):
    return lambda _, arrays: arrays.update({prefix + name: np.asarray(value)})


def remove_row(name, prefix=LEARNER):
    return lambda _, arrays: arrays.update({prefix + name: arrays[prefix + name][1:]})


NO_CLASS = {"numpy": "<i8", "value": []}
SAME_CLASSES = {"numpy": "<i8", "value": [0, 0]}
THREE_CLASSES = {"numpy": "<i8", "value": [0, 1, 2]}
TREE = DecisionTreeClassifier(random_state=0)

FORGERIES = {
    "an unknown class": (LogisticRegression(), per_label, change_fields(**{"class": "SVC"}), "unknown class 'SVC'"),
    "a class by path": (LogisticRegression(), per_label, change_fields(**{"class": "os.system"}), "class 'os.system'"),
    "no class": (LogisticRegression(), per_label, change_fields(**{"class": None}), "without a class"),
    "another field": (LogisticRegression(), per_label, change_fields(state=1), "must have the fields class, param"),
    "parameters that are a list": (LogisticRegression(), per_label, change_fields(parameters=[]), "no parameters"),
    "an unknown parameter": (LogisticRegression(), per_label, change_parameters(cube=1), "has no parameter 'cube'"),
    "an invalid parameter": (LogisticRegression(), per_label, change_parameters(C=-1), "'C' parameter of Logistic"),
    "many threads": (LogisticRegression(), per_label, change_parameters(n_jobs=5000), "at most 1024 threads"),
    "a path to write to": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        per_label,
        change_parameters(memory="/tmp"),
        "no parameter 'memory'",
    ),
    "an unknown attribute": (LogisticRegression(), per_label, change_attributes(predict=1), "has other attributes"),
    "a missing attribute": (
        LogisticRegression(),
        per_label,
        lambda document, _: learner_in(document)["attributes"].pop("coef_"),
        "has no coef_",
    ),
    "no classes": (LogisticRegression(), per_label, change_attributes(classes_=NO_CLASS), "has no classes"),
    "classes twice": (LogisticRegression(), per_label, change_attributes(classes_=SAME_CLASSES), "one of them twice"),
    "classes of outputs": (LogisticRegression(), per_label, change_attributes(classes_=[SAME_CLASSES]), "one array of"),
    "more classes than rows": (
        LogisticRegression(),
        per_label,
        change_attributes(classes_=THREE_CLASSES),
        "coef_ of a LogisticRegression in it has a wrong number of rows",
    ),
    "other features": (
        LogisticRegression(),
        per_label,
        change_fields(features={"number": 7, "names": None}),
        r"coef_ has shape \(1, 6\)",
    ),
    "the wrong dtype": (LogisticRegression(), per_label, change_attributes(coef_="int64"), "coef_ must be one of"),
    "NaN": (LogisticRegression(), per_label, set_entry("coef_", (0, 0), np.nan), "not finite"),
    "two intercepts": (LogisticRegression(), per_label, set_array("intercept_", [0.0, 0.0]), r"has shape \(2,\)"),
    "ridge of other labels": (
        RidgeClassifier(),
        all_labels,
        remove_row("coef_", SCORER),
        "intercept_ has shape",
    ),
    "a variance of zero": (GaussianNB(), per_label, set_entry("var_", (0, 0), 0), "not positive"),
    "a probability of one": (
        BernoulliNB(),
        per_label,
        set_entry("feature_log_prob_", (0, 0), 0),
        "feature_log_prob_ is out of range",
    ),
    "fewer samples than neighbours": (
        KNeighborsClassifier(3),
        per_label,
        change_parameters(n_neighbors=1000),
        "fewer samples than n_neighbors",
    ),
    "a number of neighbours from NumPy": (
        KNeighborsClassifier(3),
        per_label,
        change_parameters(n_neighbors={"numpy": "<i8", "value": 1000}),
        "fewer samples than n_neighbors",
    ),
    "an unusual metric": (
        KNeighborsClassifier(3),
        per_label,
        change_parameters(metric="mahalanobis"),
        "must be one of minkowski",
    ),
    "codes without a class": (KNeighborsClassifier(3), per_label, set_entry("_y", 0, 2), "not those of its samples"),
    "a scale of zero": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        per_label,
        set_entry("steps.0.scale_", 0, 0.0),
        "not positive",
    ),
    "a scaler without a scale": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        per_label,
        lambda document, arrays: (
            learner_in(document)["attributes"]["steps"][0][1]["attributes"].update(scale_=None),
            arrays.pop(f"{LEARNER}steps.0.scale_"),
        ),
        "no mean_ or no scale_",
    ),
    "steps that do not fit together": (
        make_pipeline(SimpleImputer(), LogisticRegression()),
        per_label,
        set_entry("steps.0.statistics_", 0, np.nan),
        "another number of features than it gets",
    ),
    "a step that does not transform": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        per_label,
        lambda document, _: learner_in(document)["attributes"]["steps"].reverse(),
        "is missing|does not transform",
    ),
    "two steps of a name": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        per_label,
        lambda document, _: learner_in(document)["attributes"]["steps"][0].__setitem__(0, "logisticregression"),
        "occurs twice",
    ),
    "one versus rest of fewer": (
        OneVsRestClassifier(LogisticRegression()),
        all_labels,
        lambda document, _: learner_in(document)["attributes"]["estimators_"].pop(),
        "wrong number of labels",
    ),
    "outputs of fewer labels": (
        MultiOutputClassifier(LogisticRegression()),
        all_labels,
        lambda document, _: learner_in(document)["attributes"]["estimators_"].pop(),
        "scores for 2 labels in place of 3",
    ),
    "a child that is its parent": (TREE, per_label, set_entry("tree_.left_child", 0, 0), "does not come after it"),
    "a child beyond the last node": (TREE, per_label, set_entry("tree_.right_child", 0, 999), "the child of one other"),
    "a child of two nodes": (TREE, per_label, set_entry("tree_.right_child", 0, 1), "not the child of one other node"),
    "a leaf with a child": (TREE, per_label, set_entry("tree_.right_child", -1, 1), "does not come after it"),
    "a feature that is not there": (TREE, per_label, set_entry("tree_.feature", 0, 6), "feature is out of range"),
    "a negative feature": (TREE, per_label, set_entry("tree_.feature", 0, -2), "feature is out of range"),
    "a threshold that is NaN": (TREE, per_label, set_entry("tree_.threshold", 0, np.nan), "threshold is NaN"),
    "shares above one": (TREE, per_label, set_entry("tree_.values", (0, 0), 2.0), "between 0 and 1"),
    "shares that do not sum to one": (TREE, per_label, set_entry("tree_.values", (0, 0), 0.999), "do not sum to 1"),
    "a flag that is 2": (TREE, per_label, set_entry("tree_.missing_go_to_left", 0, 2), "must be 0 or 1"),
    "more nodes than there are": (TREE, per_label, set_array("tree_.sizes", [1 << 40]), "do not sum to the number"),
    "two trees": (TREE, per_label, set_array("tree_.sizes", [1, 1]), "do not sum to the number"),
    "no nodes": (TREE, per_label, set_array("tree_.sizes", np.zeros(1, dtype=np.int64)), "sizes must be positive"),
    "a forest of other sizes": (
        RandomForestClassifier(2, random_state=0),
        all_labels,
        lambda _, arrays: arrays[f"{SCORER}estimators_.sizes"].__iadd__([1, -1]),
        "node",
    ),
    "a seed too few": (
        RandomForestClassifier(2, random_state=0),
        all_labels,
        remove_row("estimators_.seeds", SCORER),
        r"seeds has shape \(1,\)",
    ),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((40, 6)))
    return X, (X[:, :3] + 0.5 * rng.standard_normal((40, 3)) > 0.8).astype(int)


@pytest.mark.parametrize("name", FORGERIES)
def test_unusable_learners_are_rejected(name, data, tmp_path):
    learner, method, change, message = FORGERIES[name]
    sdgs.save(method(learner).fit(*data), tmp_path / "model.sdgs")
    with pytest.raises(
        ModelFileError, match=rf"forged\.sdgs, written by sdgs '0\.1' and scikit-learn '.*', .*{message}"
    ):
        sdgs.load(forge(tmp_path / "model.sdgs", tmp_path, change))


def test_a_tree_that_a_file_makes_deep_still_ends(data, tmp_path):
    """Its depth is computed, because scikit-learn reserves memory by it."""
    model = HierarchicalRelevance(TREE).fit(*data)
    sdgs.save(model, tmp_path / "model.sdgs")
    loaded = sdgs.load(tmp_path / "model.sdgs")
    for before, after in zip(model.estimators_, loaded.estimators_, strict=True):
        assert before.get_depth() == after.get_depth() > 1
        paths = (before.decision_path(data[0]), after.decision_path(data[0]))
        np.testing.assert_array_equal(*(path.toarray() for path in paths))
        np.testing.assert_array_equal(before.feature_importances_, after.feature_importances_)


def test_a_pipeline_in_a_pipeline_may_end_with_no_step(data, tmp_path):
    model = all_labels(make_pipeline(make_pipeline(StandardScaler(), "passthrough"), GaussianNB())).fit(*data)
    sdgs.save(model, tmp_path / "model.sdgs")
    again = sdgs.load(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))


def test_a_long_name_of_a_class_is_not_repeated_for_each_sample(data, tmp_path):
    X, Y = data
    y = np.where(Y[:, 0], "a", "b")
    sdgs.save(all_labels(KNeighborsClassifier(3)).fit(X, y), tmp_path / "model.sdgs")

    def lengthen(document, _):
        classes = {"numpy": "str", "value": ["a", "b" * 2_000_000]}
        learner_in(document)["attributes"]["classes_"] = classes

    path = forge(tmp_path / "model.sdgs", tmp_path, lengthen)
    tracemalloc.start()
    loaded = sdgs.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.estimator_.classes_.tolist() == ["a", "b" * 2_000_000]
    assert peak < 100e6  # 40 names of 8 MB would be 320 MB
