"""Explanations of predictions: labels, names, DataFrames, text, what marks labels, and counterfactuals."""

import pickle
import re
import tracemalloc
from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

import sdgs
from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.explanation._counterfactual import find_removed_features
from sdgs.explanation._reason_formatting import MIN_SHARE, named_features
from sdgs.explanation._sample_reasons import LogOddsParts

LABELS = ["red", "green", "blue"]
WORDS = [f"word{j}" for j in range(18)]


@cache
def fitted(kind):
    """A model and samples that it was not fitted to."""
    data = make_label_subspaces(300, 18, 3, n_components=2, noise=0.1, random_state=0)
    rng = np.random.default_rng(0)
    counts = csr_array(rng.poisson(0.3 + np.repeat(data.Y, 6, axis=1)).astype(float))
    X = counts if kind == "words" else data.X
    y = data.Y
    if kind == "classes":
        y = np.array(["red", "green", "blue"])[np.arange(300) % 3]
        X = X + 3.0 * np.eye(3)[np.arange(300) % 3][:, np.repeat([0, 1, 2], 6)]
    options = {"kernel": {"gamma": 1.0, "n_landmarks": 40}, "columns": {"scaling": "columns"}}.get(kind, {})
    model = SDGSClassifier(2, random_state=0, **{"gamma": None, **options})
    return model.fit(X[:250], y[:250]), X[250:]


def with_offset(model, offset):
    """The same model with this added to the log-odds of its labels."""
    model = copy(model)
    calibration = model._calibration
    model._calibration = replace(calibration, offset=np.add(calibration.offset, offset))
    return model


def explained(kind, labels=None, rows=slice(10)):
    model, X = fitted(kind)
    names = {} if kind == "classes" else {"label_names": LABELS}
    return model.explain_prediction(X[rows], labels, feature_names=WORDS, **names)


@pytest.mark.parametrize("kind", ["words", "columns", "kernel", "classes"])
def test_arrays_are_those_of_the_model_and_sum_to_its_log_odds(kind):
    model, X = fitted(kind)
    explanation = explained(kind, "all")
    np.testing.assert_array_equal(explanation.log_odds, model._scores(X[:10]))
    np.testing.assert_array_equal(explanation.probabilities, model.predict_proba(X[:10]))
    predicted = model.predict(X[:10])
    expected = predicted[:, None] == model.classes_ if kind == "classes" else predicted
    np.testing.assert_array_equal(explanation.predicted, expected)
    direct, through = explanation.features(), explanation.features_through_components()
    assert direct.shape == through.shape == (10, 3, 18)
    rest = explanation.base + direct.sum(axis=2) + explanation.neighbours().sum(axis=2)
    for split in (explanation.components(), through):
        np.testing.assert_allclose(rest + split.sum(axis=2), explanation.log_odds, rtol=1e-9, atol=1e-12)
    assert explanation.components().shape == (10, 3, 3)
    assert explanation.neighbours().shape == (10, 3, 40 if kind == "kernel" else 0)


def test_labels_to_explain_are_predicted_ones_or_named_ones_or_given_ones():
    explanation = explained("words")
    assert [list(sample.labels) for sample in explanation] == [list(np.flatnonzero(y)) for y in explanation.predicted]
    for labels, expected in (("all", [0, 1, 2]), ("blue", [2]), (["blue", "red"], [0, 2]), ([], [])):
        assert all(list(sample.labels) == expected for sample in explained("words", labels))
    given = np.eye(3, dtype=int)[np.arange(10) % 3]
    for matrix in (given, csr_array(given), pd.DataFrame(given)):
        assert [list(sample.labels) for sample in explained("words", matrix)] == [[i % 3] for i in range(10)]
    of_class = explained("classes", np.array(["red"] * 10))
    assert all(list(sample.label_names) == ["red"] for sample in of_class)
    assert all(list(sample.label_names) == ["red"] for sample in explained("classes", "red"))
    model, X = fitted("classes")
    renamed = model.explain_prediction(X[:1], ["a"], label_names=["a", "b", "c"])
    assert list(renamed[0].label_names) == ["a"]
    with pytest.raises(ValueError, match="there is no label 'pink'"):
        explained("classes", ["red"] * 9 + ["pink"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("pink", "there is no label 'pink'. The labels are red, green, blue."),
        (["red", 7], "there is no label 7"),
        (np.ones((10, 2)), "labels must have one column for each of the 3 labels, got 2"),
        (np.ones((3, 3)), "X and labels must have the same number of rows, got 10 and 3"),
        (np.full((10, 3), 2), "labels must hold only 0 and 1"),
    ],
)
def test_unusable_labels_are_rejected(labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        explained("words", labels)


def test_a_model_that_reads_norms_explains_no_predictions():
    data = make_label_subspaces(50, 6, 2, n_components=1, random_state=0)
    model = SDGSClassifier(1, readout="norm", threshold=0.01, random_state=0).fit(data.X, data.Y)
    for method in ("explain_prediction", "explain_labels", "counterfactual"):
        assert not hasattr(model, method)
    with pytest.raises(AttributeError, match="has no attribute 'explain_prediction'") as error:
        model.explain_prediction(data.X)
    assert 'explain_prediction needs readout="ridge"' in str(error.value.__cause__)


def test_it_is_a_sequence_that_can_be_sliced_and_pickled():
    explanation = explained("kernel")
    assert len(explanation) == len(list(explanation)) == 10
    part = explanation[2:5]
    np.testing.assert_array_equal(part.log_odds, explanation.log_odds[2:5])
    np.testing.assert_array_equal(part[0].features, explanation[2].features)
    assert repr(part) == "<PredictionExplanation of 3 samples: 3 labels, 18 features>"
    restored = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(restored[0].neighbours, part[0].neighbours)


def test_top_reasons_are_the_largest_parts_in_order():
    sample = explained("kernel", "all")[0]
    total = sample.features + sample.features_through_components
    for i in range(3):
        for against in (False, True):
            reasons = sample.top_features(i, 4, against=against)
            expected = np.sort(-total[i] if against else total[i])[::-1][:4]
            np.testing.assert_allclose([abs(reason.part) for reason in reasons], expected[expected > 0])
            for reason in reasons:
                assert reason.name == WORDS[reason.feature]
                assert reason.value == sample.sample[reason.feature]
                assert reason.direct == pytest.approx(sample.features[i, reason.feature])
        neighbours = sample.top_neighbours(i, 3)
        largest = np.argsort(-np.abs(sample.neighbours[i]))[:3]
        assert [neighbour.sample for neighbour in neighbours] == list(sample.terms.training_samples[largest])


def test_neighbours_are_training_samples_with_their_labels():
    model, _ = fitted("kernel")
    data = make_label_subspaces(300, 18, 3, n_components=2, noise=0.1, random_state=0)
    rows = model._pipelines[0].features.kernel.rows
    sample = model.explain_prediction(data.X[rows[3]][None], "all", label_names=LABELS)[0]
    by_sign = [sample.top_neighbours(0, 40, against=against) for against in (False, True)]
    assert sorted([*by_sign[0], *by_sign[1]], key=lambda neighbour: -abs(neighbour.part)) == list(
        sample.top_neighbours(0, 40)
    )
    nearest = max(sample.top_neighbours(0, 40), key=lambda neighbour: neighbour.similarity)
    assert nearest.similarity == pytest.approx(1.0)  # the landmark itself
    assert nearest.sample == rows[3]
    assert nearest.labels == tuple(np.array(LABELS)[data.Y[rows[3]] == 1])


@pytest.mark.parametrize("kind", ["words", "kernel"])
def test_frames_sum_to_the_log_odds(kind):
    explanation = explained(kind)
    by_label = explanation.to_frame("label").set_index(["sample", "label"])
    for by in ("feature", "component"):
        total = explanation.to_frame(by).groupby(["sample", "label"]).part.sum()
        pd.testing.assert_series_equal(total, by_label.log_odds[total.index], check_names=False)
    kinds = by_label[["base", "features", "components", "neighbours"]].sum(axis=1)
    pd.testing.assert_series_equal(kinds, by_label.log_odds, check_names=False)
    some = explanation.to_frame(max_reasons=2)
    assert some[some.kind == "feature"].groupby(["sample", "label"]).size().max() == 2
    assert list(explanation[:0].to_frame().columns) == list(some.columns)
    with pytest.raises(ValueError, match="by must be"):
        explanation.to_frame("sample")


def test_text_names_reasons_and_the_decision():
    explanation, (model, X) = explained("words", "all"), fitted("words")
    n_decisive = {False: 0, True: 0}
    for sample in explanation:
        paragraphs = re.split("\n(?! )", sample.text(unit="words"))
        assert len(paragraphs) == 3  # one per label, most probable first
        for paragraph, i in zip(paragraphs, np.argsort(-sample.probabilities), strict=True):
            first, *rest = paragraph.split("\n  ")
            name, p = sample.label_names[i], sample.probabilities[i]
            predicted = "is predicted" if sample.predicted[i] else "is not predicted"
            p = f"{p:.2f}" if p >= 0.005 else f"{p:.1g}"
            total = (sample.features + sample.features_through_components)[i]
            without = sample.log_odds[i] - total[(total > 0) == sample.predicted[i]].sum()
            P = model.predict_proba(X[[sample.name]])
            P[0, i] = expit(without)
            is_decisive = model._decision.decide(P)[0, i] != sample.predicted[i]
            n_decisive[bool(sample.predicted[i])] += is_decisive
            assert first.startswith(f"{name} {predicted} (p = {p})")
            is_raised = sample.predicted[i] and total.sum() > 0
            assert (" because of the words " in first) == (is_decisive or is_raised)
            assert rest[-1] == sample.decision(i).text()
            side = "Against it: " if sample.predicted[i] else "For it: "
            opposed = named_features(sample, sample.parts(), i, 1, against=bool(sample.predicted[i]))
            assert any(line.startswith(f"{side}{opposed[0].name}") for line in rest if opposed) == bool(opposed)
    assert n_decisive[False]
    assert n_decisive[True]
    first = explanation[0].text()
    assert explanation.text(0) == first
    assert str(explanation).startswith(f"Sample 0:\n{first}")
    assert "... and 5 more samples." in str(explanation)
    rare = with_offset(model, [-20, -20, -20])
    rare._decision = replace(model._decision, at_least_one=False)
    assert (
        rare.explain_prediction(X[:1])[0].text()
        == "No label is predicted. Pass labels to explain why one is not predicted."
    )
    assert explained("words", [])[0].text().startswith("No label is explained.")


def test_what_does_not_decide_is_no_reason_of_a_label():
    model, X = fitted("words")
    against = model.explain_prediction(X[:10], "all").features()[:, 0].sum(axis=0).argmin()
    rare = with_offset(model, [-20, 0, 0])  # the label would not be predicted without the word either
    x = np.zeros((1, 18))
    x[0, against] = 1
    first, *rest = rare.explain_prediction(x, [0])[0].text().split("\n  ")
    assert re.fullmatch(r"0 is not predicted \(p = .*\): too little speaks for it\.", first)
    assert rest[0].startswith(f"Against it: x{against} (")
    common = with_offset(model, [20, 0, 0])
    assert "0 is predicted (p = 1.00): too little speaks against it.\n" in common.explain_prediction(x)[0].text()


def test_text_begins_with_similar_training_samples_where_these_add_most():
    model, X = fitted("kernel")
    pipeline, model = model._pipelines[0], copy(model)
    coef = pipeline.ridge.coef.copy()
    coef[:, :40] *= 3  # of the landmarks
    model._pipelines = [replace(pipeline, ridge=replace(pipeline.ridge, coef=coef))]
    n_found = 0
    for sample in model.explain_prediction(X[:10], "all"):
        paragraphs = dict(zip(np.argsort(-sample.probabilities), re.split("\n(?! )", sample.text()), strict=True))
        for i, paragraph in paragraphs.items():
            by_features = (sample.features + sample.features_through_components)[i].sum()
            by_neighbours = sample.neighbours[i].sum()
            first = abs(by_neighbours) > abs(by_features) and (by_neighbours > 0) == sample.predicted[i]
            if " because of " in paragraph:
                assert ("because of similar training samples" in paragraph) == first
            else:
                first = False
            n_found += first
            for word, against in (("for", False), ("against", True)):
                strongest = sample.top_neighbours(i, 1, against=against)[0]
                assert (strongest.part < 0) == against
                assert f"Similar training samples {word} it: {strongest.sample} (" in paragraph
    assert n_found
    assert f"Similar training samples against it: {strongest.sample + 1} (" in sample.text(first_sample=1)


def test_text_says_whether_a_measurement_is_high_or_low():
    model, _ = fitted("columns")
    assert hasattr(model.scaler_, "mean_")
    sample = explained("columns", "all")[0]
    reason = sample.top_features(0, 1)[0]
    word = "low" if reason.value < model.scaler_.mean_[reason.feature] else "high"
    assert f"{word} {reason.name} (+" in sample.text()


def test_weak_reasons_are_left_out():
    sample = explained("words", "all")[0]
    parts = sample.parts()
    total = np.abs(parts.features[0] + parts.features_through_components[0])
    named = [*named_features(sample, parts, 0, 20, against=False), *named_features(sample, parts, 0, 20, against=True)]
    assert len(named) == np.count_nonzero(total >= MIN_SHARE * total.max())
    nothing = LogOddsParts(*(np.zeros_like(value) for value in vars(parts).values()))
    assert named_features(sample, nothing, 0, 20, against=False) == []


def test_html_escapes_names():
    model, X = fitted("words")
    names = ["<b>", *WORDS[1:]]
    html = model.explain_prediction(X[:7], "all", feature_names=names, label_names=["<i>", "b", "c"])._repr_html_()
    assert "&lt;i&gt;" in html
    assert "<i>" not in html
    assert "<b>" not in html
    assert html.count("<tr>") == 1 + 5 * 3
    assert "... and 2 more samples." in html


def test_a_loaded_model_gives_the_same_reasons(tmp_path):
    model, X = fitted("kernel")
    sdgs.save(model, tmp_path / "model.sdgs", feature_names=WORDS, label_names=LABELS)
    loaded = sdgs.load(tmp_path / "model.sdgs")
    expected, actual = explained("kernel", "all"), loaded.explain_prediction(X[:10], "all")
    assert actual.text() == expected.text()
    pd.testing.assert_frame_equal(actual.to_frame(), expected.to_frame())


def test_samples_are_named_by_the_index_of_a_frame():
    model, X = fitted("columns")
    frame = pd.DataFrame(X[:3], index=["a", "b", "c"])
    explanation = model.explain_prediction(frame, "all")
    assert [sample.name for sample in explanation] == ["a", "b", "c"]
    assert set(explanation.to_frame()["sample"]) == {"a", "b", "c"}


@pytest.mark.slow
def test_a_thousand_wide_samples_are_explained_in_bounded_memory():
    rng = np.random.default_rng(0)
    X = csr_array(rng.poisson(0.004, (1400, 5000)).astype(float))
    Y = np.add.reduceat(X.toarray(), np.arange(0, 1000, 50), axis=1) > 0  # 20 labels, each of 50 words
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(X[:400], Y[:400])
    model.explain_prediction(X[:5])
    tracemalloc.start()
    n_reasons = sum(len(sample.top_features(0, 5)) for sample in model.explain_prediction(X[400:], "all"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_reasons > 1000
    assert peak < 64e6  # all parts of all samples would take 1.6 GB


def test_labels_are_marked_by_their_own_words():
    model, X = fitted("words")
    marked = model.explain_labels(X, feature_names=WORDS, label_names=LABELS)
    assert marked.features.shape == (3, 18)
    for label in range(3):
        own = {f"word{j}" for j in range(6 * label, 6 * label + 6)}
        assert {reason.name for reason in marked.top_features(label, 4)} <= own
        assert not {reason.name for reason in marked.top_features(label, 2, against=True)} & own
        P = model.predict_proba(X)[:, label]
        np.testing.assert_array_equal(marked.typical[label], np.argsort(-P, kind="stable")[:10])
    assert marked.text(1, unit="words").startswith("green is marked by the words word")
    assert len(marked.text().split("\n")) == 3
    frame = marked.to_frame(3)
    words = frame[(frame.kind == "feature") & (frame.label == "green")]
    assert list(words.part) == [marked.features[1, WORDS.index(word)] for word in words.name]
    assert (words.part > 0).sum() == 3
    assert "<td>green</td>" in marked._repr_html_()
    assert str(marked) == marked.text()


def test_what_marks_labels_is_the_mean_with_the_label_minus_the_mean_of_all():
    model, X = fitted("kernel")
    explanation = model.explain_prediction(X, "all")
    marked = model.explain_labels(X)
    total = explanation.features() + explanation.features_through_components()
    for label in range(3):
        weights = explanation.probabilities[:, label]
        for parts, actual in ((total, marked.features), (explanation.neighbours(), marked.neighbours)):
            with_label = np.average(parts[:, label], axis=0, weights=weights)
            np.testing.assert_allclose(actual[label], with_label - parts[:, label].mean(axis=0), atol=1e-12)
    components = explanation.components()
    found = components.any(axis=1)
    np.testing.assert_allclose(marked.found, found.mean(axis=0))
    expected = components.sum(axis=0) / np.maximum(found.sum(axis=0), 1)
    np.testing.assert_allclose(marked.influence, expected, atol=1e-12)
    neighbour = marked.top_neighbours(0, 1)[0]
    assert neighbour.name == marked.training_samples[neighbour.index]


@pytest.mark.parametrize("kind", ["words", "columns", "kernel", "classes"])
def test_a_counterfactual_flips_the_label_and_each_of_its_features_is_needed(kind):
    model, X = fitted(kind)
    reference = model.scaler_.mean_ if hasattr(model.scaler_, "mean_") else np.zeros(18)

    def is_predicted(x, features):
        changed = x.toarray() if kind == "words" else x.copy()
        changed[:, features] = reference[features]
        predicted = model.predict(changed)
        return bool(predicted[0] == model.classes_[0] if kind == "classes" else predicted[0, 0])

    n_flipped = 0
    for x in (X[[row]] for row in range(12)):
        (result,) = model.counterfactual(x, model.classes_[0], feature_names=WORDS)
        assert result.predicted == is_predicted(x, [])
        assert result.flipped == (is_predicted(x, result.features) != result.predicted)
        if result.flipped:
            n_flipped += 1
            for feature in result.features:
                fewer = [f for f in result.features if f != feature]
                assert is_predicted(x, fewer) == result.predicted
        assert list(result.feature_names) == [WORDS[f] for f in result.features]
        assert result.probability_without == pytest.approx(model.predict_proba(result.sample)[0, 0])
        assert ("would" if result.flipped else "stays") in result.text()
        if result.flipped:
            assert ("had " in result.text()) == hasattr(model.scaler_, "mean_")
    assert n_flipped >= 4


def test_only_features_whose_removal_helps_are_removed():
    def predict(X):
        log_odds = X @ np.array([-1.0, 3.0, -2.0]) - 10
        return log_odds, log_odds > 0

    removed, flipped, rest = find_removed_features(np.ones((1, 3)), None, predict, max_features=3)
    assert not flipped
    assert removed.tolist() == [2, 0]
    np.testing.assert_array_equal(rest, [[0, 1, 0]])


def test_a_label_that_cannot_be_flipped_is_said_so():
    model, X = fitted("words")
    row = int(np.argmax(model.predict_proba(X)[:, 0]))
    (result,) = model.counterfactual(X[[row]], 0, max_features=1, label_names=[0, 1, 2])
    assert not result.flipped
    assert result.features.size == 1
    assert result.text().startswith(
        "0 stays predicted: no small set of features was found whose removal changes that. With"
    )
    (empty,) = model.counterfactual(csr_array((1, 18)), 0)
    assert not empty.features.size
    with pytest.raises(ValueError, match="max_features must be an integer >= 1"):
        model.counterfactual(X[:1], 0, max_features=0)
