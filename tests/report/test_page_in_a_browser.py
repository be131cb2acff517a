"""The report page in Chromium; skipped if it is not installed."""

import re
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.metrics import METRICS, evaluate
from sdgs.metrics._metric_inputs import mean_of
from sdgs.report import write_model_report

FEATURES = [f"feature {j}" for j in range(20)]
LABELS = ["alpha", "beta", "gamma", "delta", "alphabet", "<img src=x onerror=alert(1)>"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model, samples, labels and their page; some samples have no labels."""
    data = make_label_subspaces(500, 20, 6, n_components=2, noise=0.5, random_state=0)
    X, Y = data.X, data.Y.copy()
    Y[::25] = 0
    model = SDGSClassifier(n_components=2, random_state=0).fit(X[:200], Y[:200])
    path = tmp_path_factory.mktemp("page") / "page.html"
    names = [f"sample-{i:03d}" for i in range(300)]
    write_model_report(
        model,
        X[200:],
        Y[200:],
        path,
        feature_names=["<b>bold</b>", *FEATURES[1:]],
        label_names=LABELS,
        sample_names=names,
        compared_methods={"empty": np.zeros_like(Y[200:])},
        max_explained=100,
    )
    return model, X[200:], Y[200:], path


@pytest.fixture
def page(browser, fitted):
    """The page, which must write nothing to the console and load nothing."""
    yield from open_page(browser, fitted[3], {"width": 1280, "height": 900})


def open_page(browser, path, viewport, **options):
    page = browser.new_page(viewport=viewport, **options)
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: messages.append(dialog.message))
    page.goto(path.as_uri())
    yield page
    assert messages == []
    assert [url for url in requests if url != path.as_uri() and not url.startswith("data:")] == []
    page.close()


def move(page, selector, value):
    page.eval_on_selector(selector, f"e => {{ e.value = {value}; e.dispatchEvent(new Event('input')); }}")
    page.evaluate("() => new Promise(then => requestAnimationFrame(() => requestAnimationFrame(then)))")


def live(page):
    """The values of the metrics at the threshold."""
    return [
        float(value) for value in page.eval_on_selector_all(".live[data-value]", "c => c.map(x => x.dataset.value)")
    ]


@pytest.mark.parametrize("threshold", [10, 120, 290, 500, 730, 990, 1000])
def test_metrics_follow_the_slider(page, fitted, threshold):
    model, X, Y, _ = fitted
    move(page, "#threshold", threshold)
    expected = evaluate(Y, model.predict_proba(X) >= threshold / 1000)
    np.testing.assert_allclose(live(page), list(expected.values()), rtol=0, atol=1e-9)
    shown = page.eval_on_selector_all(".live[data-metric]", "c => c.map(x => x.textContent)")
    assert shown == [f"{100 * value:.1f}" for value in live(page)]
    assert page.inner_text("#threshold-value") == f"{threshold / 1000:.2f}"
    assert f"F1 {100 * expected['f1']:.1f} %" in page.get_attribute("#threshold", "aria-valuetext")


def test_the_slider_has_keys_and_a_button_for_the_best_f1(page, fitted):
    model, X, Y, _ = fitted
    page.focus("#threshold")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#threshold-value")).to_have_text("0.51")
    page.click("#best")
    P = model.predict_proba(X)
    best = max(evaluate(Y, t / 100 <= P)["f1"] for t in range(1, 101))
    assert live(page)[3] == pytest.approx(best, abs=1e-9)
    expect(page.locator("#best-announcement")).to_have_text(page.get_attribute("#threshold", "aria-valuetext"))


def test_metrics_of_the_model_and_of_compared_methods_are_shown(page, fitted):
    model, X, Y, _ = fitted
    rows = page.eval_on_selector_all(
        "#metric-table tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    for row, value, other in zip(
        rows, evaluate(Y, model.predict(X)).values(), evaluate(Y, np.zeros_like(Y)).values(), strict=False
    ):
        assert (row[1], row[3]) == (f"{100 * value:.1f}", f"{100 * other:.1f}")


def test_a_metric_without_a_formula_in_the_page_has_no_value_at_the_threshold(browser, fitted, tmp_path, monkeypatch):
    model, X, Y, _ = fitted
    constant = replace(
        METRICS["f1"], title="Constant", sums=lambda true, *_: mean_of(np.full(true.shape[0], 0.125)), options=()
    )
    monkeypatch.setitem(METRICS, "constant", constant)
    path = write_model_report(model, X, Y, tmp_path / "page.html", max_explained=0)
    for page in open_page(browser, path, {"width": 1280, "height": 900}):
        row = page.locator("#metric-table tr", has_text="Constant")
        assert row.locator("td").all_inner_texts() == ["12.5", "\N{EN DASH}"]
        assert len(live(page)) == 5


def column(page, i):
    return page.eval_on_selector_all(
        "#label-table tbody tr:not([hidden])", f"rows => rows.map(r => r.cells[{i}].innerText)"
    )


def by_label(page, i):
    """A column in the order of the labels."""
    texts = dict(zip(column(page, 0), column(page, i), strict=True))
    return [texts[name] for name in LABELS]


def test_labels_are_sorted_by_any_column(page):
    for i, name in enumerate(("Label", "Samples", "Predicted", "Precision", "Recall", "F1")):
        head = f"#label-table thead th:nth-child({i + 1})"
        page.focus(f"{head} button")
        page.keyboard.press("Enter")
        first = column(page, i)
        assert page.get_attribute(head, "aria-sort") == ("ascending" if i == 0 else "descending"), name
        page.keyboard.press("Enter")
        assert page.get_attribute(head, "aria-sort") == ("descending" if i == 0 else "ascending")
        again = column(page, i)
        if i:
            assert [*map(float, first)] == sorted(map(float, first), reverse=True)
            assert [*map(float, again)] == sorted(map(float, first))
        else:
            assert again == first[::-1]
        assert page.eval_on_selector_all("#label-table [aria-sort]:not([aria-sort=none])", "all => all.length") == 1


def test_labels_can_be_searched_and_link_to_their_samples(page, fitted):
    _, _, Y, _ = fitted
    page.fill("#label-search", "ALPHA")
    expect(page.locator("#label-count")).to_have_text("2 of 6 labels")
    assert sorted(column(page, 0)) == ["alpha", "alphabet"]
    page.click("#label-table tbody button >> text='alpha'")
    assert page.input_value("#sample-search") == "label: alpha"
    for name in page.eval_on_selector_all("#list option", "all => all.map(o => o.textContent.split(' ')[1])"):
        i = int(name.split("-")[1])
        assert Y[i, 0] or fitted[0].predict(fitted[1][[i]])[0, 0]
    assert page.inner_text("#position").startswith("1 of ")
    page.keyboard.press("j")  # without another click
    assert page.inner_text("#position").startswith("2 of ")
    page.keyboard.press("k")
    assert page.inner_text("#position").startswith("1 of ")


def test_the_worst_labels_come_first(page):
    shown = [float(f1) for f1 in column(page, 5)]
    assert shown == sorted(shown)
    assert page.get_attribute("#label-table thead th:nth-child(6)", "aria-sort") == "ascending"


def test_labels_at_the_threshold(page, fitted):
    model, X, Y, _ = fitted
    page.check("#at-threshold")
    move(page, "#threshold", 300)
    given = model.predict_proba(X) >= 0.3
    assert by_label(page, 2) == [str(count) for count in given.sum(axis=0)]
    recall = (given & (Y == 1)).sum(axis=0) / Y.sum(axis=0)
    assert by_label(page, 4) == [f"{100 * share:.1f}" for share in recall]
    page.uncheck("#at-threshold")
    assert by_label(page, 2) == [str(count) for count in model.predict(X).sum(axis=0)]


@pytest.mark.slow
def test_keys_and_buttons_go_through_mistakes_largest_first(page, fitted):
    model, X, Y, _ = fitted
    Z = model.predict(X)
    seen = []
    total = int((Z != Y).any(axis=1).sum())
    assert page.inner_text("#position") == f"1 of {total}"
    page.keyboard.press("j")  # ignored outside the section: letters may be commands of a screen reader
    assert page.inner_text("#position") == f"1 of {total}"
    page.click("#explorer h2")
    for key in ("j", "ArrowRight", "j"):
        seen.append(page.inner_text("#sample-name"))
        page.keyboard.press(key)
    assert page.inner_text("#position") == f"4 of {total}"
    for key in ("k", "ArrowLeft", "k"):
        page.keyboard.press(key)
    assert page.inner_text("#sample-name") == seen[0]
    assert page.get_attribute("#previous", "aria-disabled") == "true"
    assert page.get_attribute("#next", "aria-disabled") == "false"
    scores = []
    for _ in range(40):
        scores.append(float(page.inner_text("#sample-name").split("F1 ")[1].removesuffix(" %")))
        page.click("#next")
    assert scores == sorted(scores)
    assert len(set(seen)) == 3


def test_keys_are_not_shortcuts_in_text_fields(page):
    page.focus("#sample-search")
    page.keyboard.type("jk")
    assert page.input_value("#sample-search") == "jk"
    expect(page.locator("#position")).to_have_text("No sample matches.")
    assert not page.is_visible("#sample")


def test_search_finds_by_name_number_and_label(page, fitted):
    model, X, Y, _ = fitted
    page.select_option("#which", "all")
    for text in ("sample-117", "117"):
        page.fill("#sample-search", text)
        expect(page.locator("#position")).to_have_text("1 of 1")
        assert page.inner_text("#sample-name").startswith("Sample sample-117: F1 ")
    page.fill("#sample-search", "gamma")
    count = int(((Y == 1) | (model.predict(X) == 1))[:, 2].sum())
    expect(page.locator("#position")).to_have_text(f"1 of {count}")


@pytest.mark.slow
def test_samples_without_a_decomposition_say_so(page):
    page.select_option("#which", "explained")
    assert page.inner_text("#position") == "1 of 100"
    page.select_option("#which", "right")
    visible = set()
    for _ in range(20):
        visible.add((page.is_visible("#not-decomposed"), page.is_visible("#decomposition")))
        page.click("#next")
    assert visible == {(True, False), (False, True)}


def test_the_table_compares_predicted_with_true_labels(page, fitted):
    model, X, Y, _ = fitted
    page.select_option("#which", "all")
    Z, P = model.predict(X), model.predict_proba(X)
    verdicts = {(1, 1): "✓ right", (1, 0): "○ missed", (0, 1): "✗ wrong"}
    for i in (0, 1, 7, 24, 49):
        page.fill("#sample-search", f"sample-{i:03d}")
        expect(page.locator("#sample-name")).to_contain_text(f"Sample sample-{i:03d}")
        lines = page.eval_on_selector_all(
            "#verdicts tbody tr", "r => r.map(x => [...x.cells].map(c => c.innerText.trim()))"
        )
        shown = {line[1]: (line[0], float(line[2])) for line in lines if len(line) > 1}
        for j, label in enumerate(LABELS):
            if Y[i, j] or Z[i, j]:
                assert shown[label] == (verdicts[Y[i, j], Z[i, j]], pytest.approx(P[i, j], abs=1.001e-3))
            elif label in shown:
                assert shown[label][0] == "· neither"


def test_a_mistake_is_decomposed_into_predicted_and_true_labels(page, fitted):
    model, X, Y, _ = fitted
    i = int(page.inner_text("#sample-name").split("sample-")[1][:3])
    names = {"feature_names": ["<b>bold</b>", *FEATURES[1:]], "label_names": LABELS}
    assert page.inner_text("#sentences").split("\n") == model.explain(X[[i]], **names).text(0).split("\n")
    page.check("input[value=true]")
    assert page.inner_text("#sentences").split("\n") == model.explain(X[[i]], Y[[i]], **names).text(0).split("\n")
    spoken = page.eval_on_selector_all("#picture .bars [role=listitem]", "all => all.map(x => x.textContent)")
    assert len(spoken) == 10
    assert all(re.search(r" is \S+\. Scaled contributions: .*residual \S+\.$", text) for text in spoken)
    assert page.eval_on_selector_all("#residuals tbody tr", "rows => rows.length") == 5


def bars_of(block, title):
    """Names and numbers of the bars of an open block under a title."""
    bars = block.locator(f".parts[aria-label^='{title}']")
    texts = bars.locator("[role=listitem]").evaluate_all("all => all.map(x => x.firstChild.textContent)")
    numbers = bars.locator(".figure").all_inner_texts()
    spoken = bars.locator(".unseen").all_text_contents()
    assert spoken == [f": {text}" for text in numbers]
    return dict(zip(texts, (float(text.replace("\N{MINUS SIGN}", "-")) for text in numbers), strict=True))


def test_the_reasons_of_each_label_come_first_and_sum_to_the_log_odds(page, fitted):
    model, X, Y, _ = fitted
    i = int(page.inner_text("#sample-name").split("sample-")[1][:3])
    names = {"feature_names": ["<b>bold</b>", *FEATURES[1:]], "label_names": LABELS}
    expected = model.explain_prediction(X[[i]], "all", **names)[0]
    heads = page.locator("#sample h4").all_inner_texts()
    assert heads == ["Why these labels?", "What is this sample made of?"]
    table = page.locator("#verdicts tbody th").all_inner_texts()
    blocks = page.locator(".reason")
    shown = blocks.locator("summary strong").all_inner_texts()
    assert shown == [name for name in table if name in shown]
    chosen = np.flatnonzero(Y[i] | expected.predicted)
    assert {LABELS[j] for j in chosen} == set(shown)
    wrong = [n for n, name in enumerate(shown) if Y[i, LABELS.index(name)] != expected.predicted[LABELS.index(name)]]
    assert blocks.evaluate_all("all => all.map(block => block.open)").index(True) == wrong[0]
    for name, block in zip(shown, blocks.all(), strict=True):
        j = LABELS.index(name)
        if block.get_attribute("open") is None:
            block.locator("summary").focus()
            page.keyboard.press("Enter")
        assert block.locator("p").first.inner_text() == expected.decision(j).text()
        sums = bars_of(block, "Log-odds by kind")
        log_odds = sums.pop("log-odds")
        assert log_odds == pytest.approx(expected.log_odds[j], abs=0.0051)
        assert sum(sums.values()) == pytest.approx(log_odds, abs=0.03)
        features = bars_of(block, "Features")
        parts = [sum(sums[kind] for kind in sums if kind.startswith(("features", "components")))]
        assert sum(features.values()) == pytest.approx(parts[0], abs=0.01 * (len(features) + 2))
        sentence = block.locator("summary").inner_text()
        (line,) = re.findall(rf"^{re.escape(name)} is .*$", expected.text(), re.MULTILINE)
        told = re.search(r"because of the features ([^(]*?) \(", line)  # by the text of the same explanation
        verb = "is predicted" if expected.predicted[j] else "is not predicted"
        assert f"{name} {verb}{f' because of {told[1]}' if told else ': too little speaks'}" in sentence


@pytest.mark.slow
def test_a_model_without_reasons_shows_decompositions_alone(browser, tmp_path):
    data = make_label_subspaces(200, 20, 4, n_components=2, noise=0.5, random_state=0)
    model = SDGSClassifier(n_components=2, readout="norm", random_state=0).fit(data.X, data.Y)
    path = write_model_report(model, data.X, data.Y, tmp_path / "page.html")
    for page in open_page(browser, path, {"width": 1280, "height": 900}):
        page.select_option("#which", "explained")
        assert page.locator("#sample h4").all_inner_texts() == ["What is this sample made of?"]
        assert page.is_visible("#picture .bars")
        assert page.locator(".reason, .marks, #influence").count() == 0


def test_what_marks_a_label_opens_in_the_table_and_moves_with_its_row(page, fitted):
    model, X, _, _ = fitted
    explained = model.explain_labels(X, feature_names=["<b>bold</b>", *FEATURES[1:]], label_names=LABELS)
    summaries = page.locator("#label-table .marks summary")
    assert summaries.count() == len(LABELS)
    named = {reason.name for label in range(6) for reason in explained.top_features(label, 20)}
    for text in summaries.all_inner_texts():
        assert {re.sub("^(low|high) ", "", name) for name in text.split(", ")} <= named
    summaries.first.focus()
    page.keyboard.press("Enter")
    row = page.locator("#label-table tbody tr", has=page.locator("details[open]"))
    order = column(page, 0)
    assert row.locator("th").inner_text() == order[0]
    assert row.locator("[role=listitem]").count() >= 3
    page.click("#label-table thead button >> text=Label")
    page.click("#label-table thead button >> text=Label")
    assert row.locator("th").inner_text() == order[0]
    assert column(page, 0) != order


@pytest.mark.slow
def test_a_map_without_anything_to_see_is_a_sentence(browser, tmp_path):
    rng = np.random.default_rng(0)
    Y = np.eye(3, dtype=int)[rng.integers(3, size=120)]  # no two labels together
    X = Y @ rng.normal(size=(3, 12)) + 0.1 * rng.normal(size=(120, 12))
    model = SDGSClassifier(n_components=1, random_state=0).fit(X, Y)
    path = write_model_report(model, X, Y, tmp_path / "page.html", max_explained=0)
    for page in open_page(browser, path, {"width": 1280, "height": 900}):
        assert page.locator("#cooccurrence canvas").count() == 0
        assert (
            page.inner_text("#cooccurrence .pointed")
            == "There is no map, because all shares are below 5 %. All shares are zero."
        )
        page.click("#cooccurrence summary")
        assert page.is_visible("#cooccurrence tbody")


def test_the_map_of_influences_has_signs(page):
    page.click("#influence summary")
    rows = page.eval_on_selector_all(
        "#influence tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    parts = [float(part.replace("\N{MINUS SIGN}", "-")) for *_, part in rows]
    assert [abs(part) for part in parts] == sorted(map(abs, parts), reverse=True)
    assert all(row[2][0] in "+\N{MINUS SIGN}" for row in rows)
    label = page.get_attribute("#influence canvas", "aria-label")
    assert f"The component of {rows[0][1]} adds {rows[0][2]} to the log-odds of {rows[0][0]}." in label


def test_inserted_scripts_do_not_run(browser, fitted):
    page = browser.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(fitted[3].as_uri())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=p onclick=\"document.title = 1\">in</p>')")
    page.click("#p")
    assert page.title() == "A model and its samples"
    assert any("Content Security Policy" in text for text in messages)
    page.close()


def test_names_are_not_parsed_as_html(page):
    page.select_option("#which", "all")
    page.fill("#sample-search", "<img")
    expect(page.locator("#verdicts")).to_contain_text(LABELS[-1])
    assert page.query_selector("img") is None
    assert page.query_selector("main b") is None
    assert "<b>bold</b>" in page.inner_text("#sample")
    assert LABELS[-1] in page.inner_text("#label-table")


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (768, 900), (360, 740)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_wide_and_narrow_light_and_dark(browser, fitted, width, height, scheme):
    for page in open_page(browser, fitted[3], {"width": width, "height": height}, color_scheme=scheme):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        levels = page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(h => +h.tagName[1])")
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(255, 255, 255)") == (scheme == "light")
        for map_ in page.query_selector_all("#maps canvas"):
            assert map_.bounding_box()["height"] > 150
            assert re.match("A map of 6 labels. Largest (share|part): ", map_.get_attribute("aria-label"))
        page.eval_on_selector_all("details", "all => all.forEach(element => { element.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for block in page.query_selector_all(".reason, .marks"):
            inside = "element => element.scrollWidth <= element.clientWidth + 1"
            assert block.evaluate(inside), block.inner_text()


def test_every_control_has_a_name_and_can_be_reached(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, [role=group], [role=img]")]
          .filter(e => !(e.labels && e.labels.length) && !e.getAttribute("aria-label") && !e.textContent.trim())
          .map(e => e.outerHTML)"""
    )
    assert unnamed == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"threshold", "best", "label-search", "at-threshold", "which", "sample-search", "next", "list"} <= reached


@pytest.mark.slow
def test_changes_are_announced_once_and_nothing_at_first(page, fitted):
    model, X, Y, _ = fitted
    assert page.eval_on_selector_all("[role=status]", "all => all.map(x => x.textContent)") == [""] * 3
    assert page.get_attribute("#threshold-value", "aria-live") == "off"  # the slider announces its value
    page.evaluate(
        """() => { window.changes = [];
          for (const place of document.querySelectorAll("[role=status]")) {
            const watch = new MutationObserver(() => changes.push(place.textContent));
            watch.observe(place, { childList: true, characterData: true, subtree: true }); } }"""
    )

    def announced():
        page.wait_for_timeout(900)  # longer than the pause after typing
        return page.evaluate("changes.splice(0).filter(text => text)")

    total = int((model.predict(X) != Y).any(axis=1).sum())
    page.click("#next")
    (words,) = announced()
    assert words.startswith(f"2 of {total}. {page.inner_text('#sample-name')}. True: ")
    assert " Predicted: " in words
    page.click("#list")  # announces its own selection
    assert announced() == []
    page.select_option("#which", "all")
    assert announced() == ["300 samples"]
    for text, expected in (("117", "1 sample"), ("gamma", None), ("nobody", "No sample matches.")):
        page.fill("#sample-search", text)
        (words,) = announced()
        assert words == (expected or page.inner_text("#position").removeprefix("1 of ") + " samples")
    page.focus("#label-search")
    page.keyboard.type("gamm", delay=20)
    assert announced() == [f"1 of {len(LABELS)} labels"]


def test_keys_go_on_from_the_reasons_of_a_label(page):
    page.focus(".reason:last-child summary")
    for position in (2, 3, 4):
        page.keyboard.press("j")
        assert page.inner_text("#position").startswith(f"{position} of ")
        assert page.evaluate("document.activeElement.matches('.reason summary')")
    page.keyboard.press("k")
    assert page.inner_text("#position").startswith("3 of ")
    page.select_option("#which", "right")
    page.focus(".reason summary")
    for position in range(2, 15):  # some of these samples are not explained
        page.keyboard.press("j")
        assert page.inner_text("#position").startswith(f"{position} of ")


def test_buttons_keep_the_focus(page):
    page.focus("#previous")
    page.keyboard.press("Enter")  # there is no sample before the first
    assert page.evaluate("document.activeElement.id") == "previous"
    page.keyboard.press("j")
    assert page.inner_text("#position").startswith("2 of ")


def test_maps_have_tables(page, fitted):
    _, _, Y, _ = fitted
    page.click("#cooccurrence summary")
    assert page.eval_on_selector_all("#cooccurrence tbody tr", "rows => rows.length") <= 20
    page.select_option("#cooccurrence select", "2")
    rows = page.eval_on_selector_all(
        "#cooccurrence tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    shown = page.eval_on_selector_all("#cooccurrence option", "all => all.map(x => x.textContent)")[1:]
    first = LABELS.index(shown[2])
    expected = 100 * Y[Y[:, first] == 1].mean(axis=0)
    assert {row[0] for row in rows} == {shown[2]}
    assert {row[1] for row in rows} == {name for name, share in zip(LABELS, expected, strict=True) if 0 < share < 100}
    for _, other, share in rows:
        assert float(share) == pytest.approx(expected[LABELS.index(other)], abs=0.051)


@pytest.mark.parametrize("width", [1280, 360])
def test_only_boxes_that_scroll_can_be_focused(browser, fitted, width):
    for page in open_page(browser, fitted[3], {"width": width, "height": 800}):
        page.wait_for_timeout(100)
        boxes = page.eval_on_selector_all(
            ".scroll",
            """all => all.filter(x => x.checkVisibility()).map(x => [x.getAttribute("aria-label"),
              x.hasAttribute("tabindex"),
              x.scrollWidth > x.clientWidth + 1 || x.scrollHeight > x.clientHeight + 1])""",
        )
        assert len(boxes) == 6  # open ones
        for name, focusable, scrolls in boxes:
            assert focusable == scrolls, name


def test_text_has_enough_contrast(browser, fitted):
    """At least 4.5 on both backgrounds, as WCAG requires."""
    for scheme in ("light", "dark"):
        for page in open_page(browser, fitted[3], {"width": 1280, "height": 900}, color_scheme=scheme):
            colours = page.evaluate(
                """names => Object.fromEntries(names.map(name =>
                  [name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim()]))""",
                ["paper", "shade", "ink", "muted", "good", "bad", "warm", "link"],
            )
            light = {name: luminance(colour) for name, colour in colours.items()}
            for text in ("ink", "muted", "good", "bad", "warm", "link"):
                for ground in ("paper", "shade"):
                    low, high = sorted((light[text], light[ground]))
                    assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, text, ground)


def luminance(colour):
    digits = colour.removeprefix("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_the_page_can_be_printed_without_controls(page):
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert not page.is_visible("#list")
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


@pytest.mark.slow
def test_images_are_drawn(browser, tmp_path):
    data = make_composite_digits(400, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifier(random_state=0).fit(data.X, data.Y)
    path = write_model_report(model, data.X[:60], data.Y[:60], tmp_path / "page.html", shape=(8, 8))
    for page in open_page(browser, path, {"width": 1280, "height": 900}):
        page.select_option("#which", "all")
        labels = int(model.predict(data.X[:1]).sum())
        drawn = page.query_selector_all("#picture canvas")
        assert len(drawn) == labels + 2
        ink = page.evaluate(
            """() => [...document.querySelector("#picture canvas").getContext("2d").getImageData(0, 0, 8, 8).data]
              .filter((_, i) => i % 4 === 0)"""
        )
        parts = page.query_selector_all(".reason[open] .pictured canvas")
        assert [canvas.get_attribute("aria-label").split(" (")[0] for canvas in parts] == [
            "An image: the sample",
            "An image: what each pixel adds",
        ]
        order = np.argsort(ink, kind="stable")
        assert (np.diff(data.X[0][order]) <= 1e-9).sum() >= 50  # larger values are darker


@pytest.mark.slow
def test_fast_at_ten_thousand_samples(browser, tmp_path):
    data = make_label_subspaces(10_000, 30, 50, n_components=2, noise=0.5, random_state=0)
    model = SDGSClassifier(n_components=2, cv=2, random_state=0).fit(data.X[:500], data.Y[:500])
    path = write_model_report(model, data.X, data.Y, tmp_path / "page.html", max_explained=50)
    assert path.stat().st_size < 6e6
    for page in open_page(browser, path, {"width": 1280, "height": 900}):
        page.select_option("#which", "all")
        assert page.inner_text("#position") == "1 of 10,000"
        assert page.eval_on_selector_all("#list option", "all => all.length") == 200
        page.check("#at-threshold")
        move(page, "#threshold", 250)
        expected = evaluate(data.Y, model.predict_proba(data.X) >= 0.25)
        np.testing.assert_allclose(live(page), list(expected.values()), rtol=0, atol=1e-9)
        page.select_option("#list", "150")
        assert page.inner_text("#position") == "151 of 10,000"
