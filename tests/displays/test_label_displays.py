"""Displays of labels show what was computed and can be read."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from sdgs import SDGSClassifier, label_angles
from sdgs.datasets import make_composite_digits
from sdgs.displays import AngleMapDisplay, CooccurrenceDisplay, LabelInfluenceDisplay, LabelSubspacesDisplay


def test_subspaces_as_images_and_as_features(digits, standardized, many_labels, assert_readable):
    model, _ = digits
    display = LabelSubspacesDisplay.from_estimator(model, shape=(8, 8))
    images = [inset.images[0].get_array().ravel() for inset in display.ax_.child_axes]
    assert len(images) == sum(map(len, model.components_))
    np.testing.assert_allclose(np.abs(images), np.abs(np.vstack(model.components_)))
    for i, U in enumerate(model.decomposition_.coefficients):  # the way that training samples go
        means = U.mean(axis=0) * (np.array(images[4 * i : 4 * i + 4]) * model.components_[i]).sum(axis=1)
        assert (means >= 0).all()
    assert_readable(display)
    words, _, _ = standardized
    display = LabelSubspacesDisplay.from_estimator(words, max_features=3)
    inside = np.square(words.components_[1]).sum(axis=0)
    best = [f"feature {j}" for j in np.argsort(-inside)[:3]]
    assert [text.get_text() for text in display.ax_.texts[3:6]] == best
    np.testing.assert_allclose(display.ax_.images[0].get_array()[1], np.sort(inside)[::-1][:3])
    assert_readable(display)
    _, _, names, components = many_labels
    support = np.arange(374)
    display = LabelSubspacesDisplay(components=components, label_names=names, support=support).plot(max_labels=5)
    assert [text.get_text()[-3:] for text in display.ax_.get_yticklabels()] == ["369", "370", "371", "372", "373"]
    assert_readable(display)
    chosen = display.plot(labels=[3])
    assert len(chosen.ax_.get_yticklabels()) == 1
    with pytest.raises(ValueError, match="shape must be the height and width of an image of 40 pixels"):
        display.plot(shape=(8, 8))


def test_angles_as_a_map_and_as_a_tree(standardized, many_labels, texts, assert_readable):
    model, _, _ = standardized
    angles, display = label_angles(model), AngleMapDisplay.from_estimator(model)
    order = angles.order()
    shown = display.ax_.images[0].get_array()
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(shown[off], angles.shared[np.ix_(order, order)][off])
    assert shown.mask[~off].all()
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [str(model.classes_[i]) for i in order]
    assert f"{100 * angles.shared[order[0], order[1]]:.0f} %" in texts(display.ax_)
    assert_readable(display)
    tree = AngleMapDisplay.from_estimator(model, kind="tree")
    assert {text.get_text() for text in tree.ax_.get_yticklabels()} == {"red", "green", "blue", "yellow"}
    assert_readable(tree)
    _, _, names, components = many_labels
    display = AngleMapDisplay.from_estimator(components, label_names=names)
    assert display.ax_.images[0].get_array().shape == (374, 374)
    assert len(display.ax_.get_yticklabels()) <= 40
    assert not display.ax_.texts
    assert_readable(display)
    tree = display.plot(kind="tree", max_names=20)
    leaves = [text.get_text() for text in tree.ax_.get_yticklabels()]
    assert len(leaves) == 20
    assert sum(int(leaf.rpartition("+")[2]) + 1 if " +" in leaf else 1 for leaf in leaves) == 374
    assert_readable(tree)
    assert AngleMapDisplay.from_estimator(components[:1]).ax_.images
    with pytest.raises(ValueError, match="kind must be one of 'map', 'tree'"):
        display.plot(kind="pie")


def test_cooccurrence(standardized, many_labels, assert_readable):
    _, _, Y = standardized
    display = CooccurrenceDisplay.from_predictions(Y)
    np.testing.assert_array_equal(display.counts, Y.to_numpy().T @ Y.to_numpy())
    names = [text.get_text().split(" ")[0] for text in display.ax_.get_yticklabels()]
    assert set(names) == set(Y.columns)
    first, second = Y[names[0]], Y[names[1]]
    assert display.ax_.images[0].get_array()[0, 1] == pytest.approx((first & second).sum() / first.sum())
    assert_readable(display)
    truth, _, label_names, _ = many_labels
    display = CooccurrenceDisplay.from_predictions(csr_array(truth), label_names=label_names)
    assert display.ax_.get_title() == "the 40 most frequent of 374 labels"
    assert_readable(display)
    assert CooccurrenceDisplay.from_predictions([[1], [0]]).counts.tolist() == [[1]]


def test_influence_of_labels(digits, texts, assert_readable):
    model, test = digits
    explanation = model.explain_labels(test.X)
    display = LabelInfluenceDisplay.from_estimator(model, test.X)
    np.testing.assert_allclose(display.influence, explanation.influence)
    order = [int(text.get_text()) for text in display.ax_.get_yticklabels()]
    assert sorted(order) == list(range(10))
    assert [int(text.get_text()) for text in display.ax_.get_xticklabels()] == order
    image = display.ax_.images[0]
    np.testing.assert_allclose(image.get_array(), explanation.influence[np.ix_(order, order)])
    assert image.norm.vmin == -image.norm.vmax
    largest = np.unravel_index(explanation.influence.argmax(), (10, 10))
    assert largest[0] == largest[1]
    assert f"{explanation.influence[largest]:+.1f}" in texts(display.ax_)
    assert_readable(display)
    again = explanation.plot(max_labels=3)
    assert again.ax_.get_title() == "the 3 most frequent of 10 labels"
    support = [len(rows) for rows in model.decomposition_.rows]
    drawn = {int(text.get_text()) for text in again.ax_.get_yticklabels()}
    assert min(support[i] for i in drawn) >= max(support[i] for i in set(range(10)) - drawn)


def test_influence_of_many_labels_and_of_one(assert_readable):
    rng = np.random.default_rng(0)
    influence = rng.standard_normal((374, 374)) * 0.01 + np.diag(np.full(374, 5.0))
    names = [f"a label with a rather long name, number {i}" for i in range(374)]
    display = LabelInfluenceDisplay(influence=influence, label_names=names, support=np.arange(374)).plot()
    assert display.ax_.images[0].get_array().shape == (40, 40)
    assert display.ax_.images[0].norm.vmax < 0.1  # not the scale of the diagonal
    assert not display.ax_.texts
    assert {text.get_text()[-3:] for text in display.ax_.get_yticklabels()} == {str(i) for i in range(334, 374)}
    assert_readable(display)
    assert LabelInfluenceDisplay(influence=np.array([[2.0]])).plot().ax_.texts[0].get_text() == "+2.0"


def test_labels_that_are_near_each_other_speak_for_each_other():
    influence = np.full((6, 6), -1.0)
    for pair in ((0, 3), (1, 4), (2, 5)):
        influence[pair] = influence[pair[::-1]] = 2.0
    display = LabelInfluenceDisplay(influence=influence).plot()
    order = [int(text.get_text()) for text in display.ax_.get_yticklabels()]
    assert {frozenset(order[i : i + 2]) for i in (0, 2, 4)} == {frozenset({i, i + 3}) for i in range(3)}


def test_a_model_that_reads_no_codes_has_no_influence_to_draw(words):
    model, X = words
    assert model.read_from_ == ("sample",)
    with pytest.raises(ValueError, match=r'no influence .*its read_from_ has neither "code" nor "norms"'):
        LabelInfluenceDisplay.from_estimator(model, X)


def test_influence_in_a_pipeline():
    data = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    pipeline = make_pipeline(MinMaxScaler(), SDGSClassifier(huber=0.5, gamma=None, random_state=0))
    pipeline.fit(data.X, data.Y)
    display = LabelInfluenceDisplay.from_estimator(pipeline, data.X[:30], label_names=list("abcdefghij"))
    expected = pipeline[-1].explain_labels(pipeline[0].transform(data.X[:30])).influence
    np.testing.assert_allclose(display.influence, expected)
    assert {text.get_text() for text in display.ax_.get_xticklabels()} == set("abcdefghij")
