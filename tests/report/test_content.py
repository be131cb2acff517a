"""The content of the page, and the page without a browser."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgs import SDGSClassifier, load
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.methods import BinaryRelevance
from sdgs.metrics import ALL_METRICS, METRICS, evaluate
from sdgs.report import fit_compared_methods, model_content, write_model_report
from sdgs.report._content import _influence_map
from sdgs.report._explained_samples import ExplainedSamples
from sdgs.report._label_marks import choose_samples
from sdgs.report._packed_labels import pack_labels


@pytest.fixture(scope="module")
def fitted():
    """A model, held-out samples, and their labels."""
    data = make_label_subspaces(400, 20, 6, n_components=2, noise=0.5, random_state=0)
    model = SDGSClassifier(n_components=2, random_state=0).fit(data.X[:200], data.Y[:200])
    return model, data.X[200:], data.Y[200:]


def unpack(content):
    """True labels, predicted labels and steps of the probabilities, (n, k), from the cells."""

    def array(name, dtype):
        return np.frombuffer(base64.b64decode(content["cells"][name]), dtype=dtype)

    rows = np.repeat(np.arange(content["data"]["n"]), array("counts", "<u4"))
    cells, labels = array("cells", "<u2"), array("labels", "<u2")
    matrices = np.zeros((3, content["data"]["n"], content["data"]["k"]), dtype=int)
    matrices[:, rows, labels] = cells >> 10 & 1, cells >> 11 & 1, cells & 1023
    for i in range(content["data"]["n"]):
        assert (np.diff((cells & 1023)[rows == i].astype(int)) <= 0).all()
    return matrices[0] == 1, matrices[1] == 1, matrices[2]


def test_cells_hold_labels_and_probabilities(fitted):
    model, X, Y = fitted
    content = model_content(model, X, Y)
    true, predicted, steps = unpack(content)
    np.testing.assert_array_equal(true, Y == 1)
    np.testing.assert_array_equal(predicted, model.predict(X) == 1)
    P = model.predict_proba(X)
    for t in range(10, 1001):
        np.testing.assert_array_equal(steps >= t, t / 1000 <= P)


def test_probabilities_are_rounded_down_exactly():
    P = np.arange(1001)[None] / 1000
    empty = np.zeros(P.shape, dtype=bool)
    for values, expected in ((P, range(10, 1001)), (np.nextafter(P, 0), range(10, 1000))):
        cells = np.frombuffer(base64.b64decode(pack_labels(empty, empty, values)["cells"]), dtype="<u2")
        assert cells.tolist() == sorted(expected, reverse=True)


def test_metrics_of_the_model_and_of_compared_methods(fitted):
    model, X, Y = fitted
    other = BinaryRelevance().fit(X, Y)
    compared = {"BR": other, "empty": np.zeros_like(Y), "sparse": csr_array(Y)}
    content = model_content(model, X, Y, compared_methods=compared)
    assert [metric["name"] for metric in content["metrics"]] == list(METRICS)
    assert content["values"] == list(evaluate(Y, model.predict(X)).values())
    values = {method["name"]: method["values"] for method in content["compared_methods"]}
    assert values["BR"] == list(evaluate(Y, other.predict(X)).values())
    assert values["empty"] == list(evaluate(Y, np.zeros_like(Y)).values())
    assert values["sparse"] == [0.0, 1.0, 1.0, 1.0, 1.0]


def test_a_metric_of_the_registry_is_on_the_page(fitted, tmp_path, monkeypatch):
    model, X, Y = fitted
    monkeypatch.setitem(METRICS, "subset_accuracy", ALL_METRICS["subset_accuracy"])
    content = model_content(model, X, Y)
    assert content["values"][-1] == pytest.approx((model.predict(X) == Y).all(axis=1).mean())
    page = write_model_report(model, X, Y, tmp_path / "page.html").read_text()
    assert f"{100 * content['values'][-1]:.1f}" in page.partition("Subset accuracy")[2].partition("</tr>")[0]


@pytest.mark.parametrize("form", ["dense", "sparse", "missing"])
def test_compared_methods_learn_from_samples_at_any_scale(form):
    data = make_label_subspaces(300, 20, 4, n_components=2, noise=0.1, random_state=0)
    X = 1e3 * data.X + 50 if form == "dense" else data.X.copy()
    if form == "missing":
        X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    X = csr_array(X) if form == "sparse" else X
    constant = evaluate(data.Y[200:], np.ones_like(data.Y[200:]))["f1"]
    methods = fit_compared_methods(X[:200], data.Y[:200])
    assert list(methods) == ["Binary relevance", "ML-kNN"]
    assert evaluate(data.Y[200:], methods["ML-kNN"].predict(X[200:]))["f1"] > constant


def test_metrics_per_label(fitted):
    model, X, _ = fitted
    Z = model.predict(X)
    true = Z.copy()
    true[:, 0] = 0
    true[:, 1] = 1
    by_label = model_content(model, X, true)["by_label"]
    assert by_label[0] == [0, int(Z[:, 0].sum()), 0.0, None, 0.0]
    assert by_label[1][2] == 1.0
    assert by_label[1][3] == pytest.approx(Z[:, 1].mean())
    assert by_label[2] == [int(Z[:, 2].sum()), int(Z[:, 2].sum()), 1.0, 1.0, 1.0]


def test_mistakes_are_ordered_largest_first(fitted):
    model, X, Y = fitted
    content = model_content(model, X, Y)
    order = np.frombuffer(base64.b64decode(content["mistakes"]), dtype="<u4")
    Z, P = model.predict(X), model.predict_proba(X)
    keys = []
    for i in order:
        wrong = Z[i] != Y[i]
        keys.append((evaluate(Y[[i]], Z[[i]])["f1"], -np.abs(Y[i] - P[i])[wrong].sum()))
    assert keys == sorted(keys)
    assert set(order) == set(np.flatnonzero((Z != Y).any(axis=1)))
    assert content["n_right"] + content["n_mistakes"] == len(Y)


def test_parts_sum_to_the_sample(fitted):
    model, X, Y = fitted
    names = [f"f{j}" for j in range(20)]
    content = model_content(model, X, Y, feature_names=names)
    explanation = model.explain(X, feature_names=names, label_names=range(6))
    terms, predicted = explanation.terms, model.predict(X)
    Z = (X - (0 if terms.baseline is None else terms.baseline)) / terms.unit
    assert len(content["explained"]) == len(X)
    for row, both in content["explained"].items():
        z = Z[row]
        for explained in (both["predicted"], both["true"] or both["predicted"]):
            features = [int(content["features"][j][1:]) for j in explained["features"]]
            np.testing.assert_allclose(explained["values"], X[row][features], rtol=5e-3)
            np.testing.assert_allclose(np.sum(explained["parts"], axis=1), z[features], atol=0.02 * np.abs(z).max())
        assert (both["true"] is None) == (predicted[row] == Y[row]).all()
        assert both["predicted"]["sentences"] == explanation.text(row).split("\n")


def test_reasons_sum_to_the_log_odds(fitted):
    model, X, Y = fitted
    names = [f"f{j}" for j in range(20)]
    content = model_content(model, X, Y, feature_names=names)
    expected = model.explain_prediction(X, "all", feature_names=names)
    assert content["has_reasons"]
    for row, explained in content["explained"].items():
        parts, decided = expected[row].parts(), expected.predicted[row]
        labels = [reason["label"] for reason in explained["reasons"]]
        assert labels == np.flatnonzero(decided | (Y[row] == 1)).tolist()
        for reason in explained["reasons"]:
            j = reason["label"]
            assert reason["predicted"] == decided[j]
            assert reason["log_odds"] == pytest.approx(expected.log_odds[row, j], abs=1e-3)
            assert sum(reason["sums"]) == pytest.approx(expected.log_odds[row, j], abs=4e-3)
            total = parts.features[j] + parts.features_through_components[j]
            by_name = dict(zip((names[f] for f in parts.columns), total, strict=True))
            named = {content["features"][f]: (value, part) for f, _, value, part in reason["features"]}
            assert len(named) >= 1
            for name, (value, part) in named.items():
                assert part == pytest.approx(by_name[name], rel=5e-3)
                assert value == pytest.approx(X[row, int(name[1:])], rel=5e-3)
                assert abs(part) >= 0.099 * np.abs(total).max()
            n_others, others = reason["other_features"]
            assert n_others == np.count_nonzero(total) - len(named)
            assert others + sum(part for _, part in named.values()) == pytest.approx(total.sum(), abs=0.05)
            neighbours = sum(part for *_, part in reason["neighbours"]) + reason["other_neighbours"][1]
            assert neighbours == pytest.approx(reason["sums"][3], abs=0.05)
            assert reason["decision"] == expected[row].decision(j).text()


def test_similar_training_samples_come_with_their_labels():
    data = make_composite_digits(200, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifier(gamma=1.0, random_state=0).fit(data.X, data.Y)
    content = model_content(model, data.X[:20], data.Y[:20])
    reasons = [reason for explained in content["explained"].values() for reason in explained["reasons"]]
    named = {row for reason in reasons for row, *_ in reason["neighbours"]}
    assert len(named) > 10
    assert content["training_labels"] == {row: np.flatnonzero(data.Y[row]).tolist() for row in named}


def test_what_marks_a_label(fitted):
    model, X, Y = fitted
    content = model_content(model, X, Y)
    expected = model.explain_labels(X)  # as many samples as the page takes
    assert content["n_marking"] == 200
    for label, mark in enumerate(content["marks"]):
        top = expected.top_features(label, 8)
        assert mark["features"]
        P = model.predict_proba(X)[:, label]
        for (feature, word, part), reason in zip(mark["features"], top, strict=False):
            assert content["features"][feature] == reason.name
            assert part == pytest.approx(reason.part, rel=5e-3)
            values = X[:, reason.index]
            assert word == ("high" if np.average(values, weights=P) > values.mean() else "low")
        for name, against in (("labels_for", False), ("labels_against", True)):
            others = [reason.index for reason in expected.top_labels(label, against=against)]
            assert [other for other, _ in mark[name]] == others[: len(mark[name])]


def test_the_map_of_influences_leaves_out_what_labels_add_for_themselves(fitted):
    model, X, Y = fitted
    assert "code" in model.read_from_
    influence = model_content(model, X, Y)["maps"]["influence"]
    expected = model.explain_labels(X).influence
    np.fill_diagonal(expected, 0)
    order = influence["labels"]
    np.testing.assert_allclose(np.array(influence["values"]) / 100, expected[np.ix_(order, order)], atol=0.0051)
    assert _influence_map(np.arange(6), np.eye(6), np.arange(6)) is None


def test_samples_that_marks_are_averaged_over():
    P = np.random.default_rng(0).random((1000, 30))
    rows = choose_samples(np.zeros((1000, 10)), P)
    assert rows.size == 200
    assert set(P.argmax(axis=0)) <= set(rows.tolist())
    assert choose_samples(np.zeros((15, 10)), P[:15]).tolist() == list(range(15))
    wide = csr_array((100, 10**5))  # only stored entries count
    assert choose_samples(wide, P[:100]).size == 100
    assert choose_samples(csr_array((100, 10**7)), P[:100]).size == 0
    assert choose_samples(np.zeros((100, 10)), np.zeros((100, 3000))).size == 0
    assert choose_samples(np.zeros((100, 10)), None).size == 0


def test_many_labels_per_sample_reduce_the_number_of_explained_samples():
    n = ExplainedSamples.max_samples(500, None, 60.0, has_reasons=True)
    assert n == 100
    assert ExplainedSamples.max_samples(500, None, 60.0, has_reasons=False) == 500


def test_at_most_max_explained_samples_are_decomposed_the_largest_mistakes_first(fitted):
    model, X, Y = fitted
    content = model_content(model, X, Y, max_explained=20)
    order = np.frombuffer(base64.b64decode(content["mistakes"]), dtype="<u4").tolist()
    explained = set(content["explained"])
    assert len(explained) == 20
    assert explained & set(order) == set(order[: len(explained & set(order))])
    assert len(explained - set(order)) == 8
    assert model_content(model, X, Y, max_explained=0)["explained"] == {}


def test_images_sum_to_the_sample():
    data = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    X, Y = data.X.copy(), data.Y
    model = SDGSClassifier(random_state=0).fit(X, Y)
    X[0, :3] = np.nan
    content = model_content(model, X[:5], Y[:5], shape=(8, 8))
    for row in range(5):
        explained = content["explained"][row]["predicted"]
        images = np.frombuffer(base64.b64decode(explained["images"]), dtype="i1").reshape(-1, 64).astype(float)
        assert (images[0, :3] == -128).all() == (row == 0)
        seen = images[0] != -128
        total = images[1:, seen].sum(axis=0) * explained["limit"] / 127
        np.testing.assert_allclose(total, X[row, seen], atol=len(images) * explained["limit"] / 127)
        for reason in content["explained"][row]["reasons"]:
            image = np.frombuffer(base64.b64decode(reason["images"]), dtype="i1").astype(float)
            assert (image[:3] == -128).all() == (row == 0)
            total = image[image != -128].sum() * reason["limit"] / 127
            parts = sum(part for *_, part in reason["features"]) + reason["other_features"][1]
            assert total == pytest.approx(parts, abs=64 * reason["limit"] / 127)
    assert all(name.startswith("pixel ") for name in content["features"])
    with pytest.raises(ValueError, match="shape must be the height and width of an image of 64 pixels"):
        model_content(model, X, Y, shape=(8, 9))


def test_more_samples_than_max_samples_are_drawn_at_random_and_keep_their_numbers(fitted):
    model, X, Y = fitted
    content = model_content(model, X, Y, max_samples=50)
    assert content["data"]["n"] == 50
    assert content["data"]["n_given"] == 200
    true, _, _ = unpack(content)
    np.testing.assert_array_equal(true, Y[[int(name) for name in content["names"]]] == 1)


def test_names_come_from_dataframes(fitted):
    _, X, Y = fitted
    samples = pd.DataFrame(X, columns=[f"word{j}" for j in range(20)], index=[f"text{i}" for i in range(200)])
    labels = pd.DataFrame(Y, columns=list("abcdef"), index=samples.index)
    model = SDGSClassifier(n_components=2, random_state=0).fit(samples, labels)
    content = model_content(model, samples, labels, max_samples=100)
    assert content["labels"] == list("abcdef")
    assert all(name.startswith("text") for name in content["names"])
    assert all(name.startswith("word") for name in content["features"])


@pytest.mark.parametrize("sparse", [False, True])
def test_one_class_per_sample_and_sparse_samples(fitted, sparse):
    _, X, Y = fitted
    classes = np.array(["red", "green", "blue"])[Y[:, :3].argmax(axis=1)]
    samples = csr_array(np.where(np.abs(X) > 0.1, X, 0)) if sparse else X
    model = SDGSClassifier(n_components=2, random_state=0).fit(samples, classes)
    content = model_content(model, samples, classes, max_samples=150)
    assert content["labels"] == ["blue", "green", "red"]
    assert content["data"]["by_size"] == [[0, 0], [150, 150]]


def test_without_probabilities_there_are_no_threshold_and_no_reasons(fitted, tmp_path):
    _, X, Y = fitted
    model = SDGSClassifier(n_components=2, readout="norm", random_state=0).fit(X, Y)
    path = write_model_report(model, X, Y, tmp_path / "page.html")
    page = path.read_text()
    assert 'id="threshold"' not in page
    assert "Marked by" not in page
    assert 'id="label-reasons"' not in page
    content = model_content(model, X, Y)
    assert (content["has_reasons"], content["marks"], content["maps"]["influence"]) == (False, None, None)
    assert {str(explained["reasons"]) for explained in content["explained"].values()} == {"[]"}
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_content_is_json_and_cannot_end_the_script(fitted, tmp_path):
    model, X, Y = fitted
    bad = "</script><script>alert(1)</script><!--\u2028"
    names = {"label_names": [bad] * 6, "feature_names": [bad] * 20}
    page = write_model_report(model, X, Y, tmp_path / "page.html", **names, title=bad).read_text()
    assert "<script>alert" not in page
    (text,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    assert json.loads(text)["labels"] == [bad] * 6


def test_names_that_utf_8_or_a_page_cannot_hold_are_escaped_in_it_and_kept_in_its_data(fitted, tmp_path):
    model, X, Y = fitted
    bad = "\ud800 \x00 \u202e"
    names = {"label_names": [bad] * 6, "feature_names": [bad] * 20}
    path = write_model_report(model, X, Y, tmp_path / "page.html", **names, title=bad)
    page = path.read_text(encoding="utf-8")
    assert r"<title>\ud800 \x00 \u202e</title>" in page
    (text,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    assert json.loads(text)["labels"] == [bad] * 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_names": ["a"]}, "label_names must have 6 names, got 1"),
        ({"sample_names": ["a"]}, "sample_names must have 200 names, got 1"),
        (
            {"compared_methods": {"other": np.zeros((200, 2))}},
            "the prediction of other must have one column for each label, got 2",
        ),
        ({"max_samples": 0}, "max_samples must be an integer >= 1"),
    ],
)
def test_invalid_input_is_rejected(fitted, options, message):
    model, X, Y = fitted
    with pytest.raises(ValueError, match=message):
        model_content(model, X, Y, **options)
    with pytest.raises(ValueError, match="Y must have one column for each of the 6 labels, got 5"):
        model_content(model, X, Y[:, :5])


def test_the_code_in_the_docs_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "report.md", "exec"), {})
    assert "Binary relevance" in (tmp_path / "report.html").read_text()


def test_a_pipeline_is_reported_by_its_last_step():
    data = make_label_subspaces(60, 5, 3, n_components=1, noise=0.3, random_state=0)
    X = pd.DataFrame(data.X, columns=list("pqrst"), index=[f"sample {i}" for i in range(60)])
    Y = pd.DataFrame(data.Y, columns=["red", "green", "blue"])
    pipeline = make_pipeline(StandardScaler(), SDGSClassifier(1, gamma=None, random_state=0)).fit(X, Y)
    rival = make_pipeline(StandardScaler(), BinaryRelevance()).fit(X, Y)  # takes X as it is given
    scaled = pd.DataFrame(pipeline[0].transform(X), columns=X.columns, index=X.index)
    content = model_content(pipeline, X, Y, compared_methods={"BR": rival}, max_samples=50)
    model = SDGSClassifier(1, gamma=None, random_state=0).fit(scaled, Y)
    compared = {"BR": rival.predict(X)}
    assert content == model_content(model, scaled, Y, compared_methods=compared, max_samples=50)
    assert set(content["features"]) == set("pqrst")
    assert all(mark["features"] for mark in content["marks"])
    assert any(reason["features"] for sample in content["explained"].values() for reason in sample["reasons"])
    assert content["labels"] == ["red", "green", "blue"]
    with pytest.raises(ValueError, match="a pipeline whose last step is BinaryRelevance"):
        model_content(rival, X, Y)


def test_the_names_stored_with_a_model_are_on_the_page(tmp_path):
    data = make_label_subspaces(60, 4, 3, n_components=1, noise=0.3, random_state=0)
    model = SDGSClassifier(1, gamma=None, random_state=0).fit(data.X, data.Y)
    content = model_content(model, data.X, data.Y, shape=(2, 2))
    assert {name.split()[0] for name in content["features"]} == {"pixel"}
    model.save(tmp_path / "model.sdgs", feature_names=list("pqrs"), label_names=["red", "green", "blue"])
    for shape in (None, (2, 2)):
        content = model_content(load(tmp_path / "model.sdgs"), data.X, data.Y, shape=shape)
        assert set(content["features"]) <= set("pqrs")
        assert content["features"]
        assert content["labels"] == ["red", "green", "blue"]
