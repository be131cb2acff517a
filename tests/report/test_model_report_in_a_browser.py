"""The page of a model in a real browser: Chromium, where it is installed."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.metrics import evaluate
from sdgs.report import write_model_report

FEATURES = [f"feature {j}" for j in range(20)]
LABELS = ["alpha", "beta", "gamma", "delta", "alphabet", "<img src=x onerror=alert(1)>"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model, samples, labels and their page; some samples have no labels at all."""
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
        rivals={"nothing": np.zeros_like(Y[200:])},
        max_explained=100,
    )
    return model, X[200:], Y[200:], path


@pytest.fixture
def page(browser, made):
    """The page, which must say nothing on the console and ask for nothing."""
    yield from opened(browser, made[3], {"width": 1280, "height": 900})


def opened(browser, path, viewport, **options):
    page = browser.new_page(viewport=viewport, **options)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    yield page
    assert said == []
    assert [url for url in asked if url != path.as_uri() and not url.startswith("data:")] == []
    page.close()


def move(page, selector, value):
    page.eval_on_selector(selector, f"e => {{ e.value = {value}; e.dispatchEvent(new Event('input')); }}")
    page.evaluate("() => new Promise(then => requestAnimationFrame(() => requestAnimationFrame(then)))")


def live(page):
    return [
        float(value) for value in page.eval_on_selector_all(".live[data-measure]", "c => c.map(x => x.dataset.value)")
    ]


@pytest.mark.parametrize("threshold", [10, 120, 290, 500, 730, 990, 1000])
def test_measures_follow_the_slider(page, made, threshold):
    model, X, Y, _ = made
    move(page, "#threshold", threshold)
    expected = evaluate(Y, model.predict_proba(X) >= threshold / 1000)
    np.testing.assert_allclose(live(page), list(expected.values()), rtol=0, atol=1e-9)
    shown = page.eval_on_selector_all(".live[data-measure]", "c => c.map(x => x.textContent)")
    assert shown == [f"{100 * value:.1f}" for value in live(page)]
    assert page.inner_text("#threshold-value") == f"{threshold / 1000:.2f}"
    assert f"F1 {100 * expected['f1']:.1f} %" in page.get_attribute("#threshold", "aria-valuetext")


def test_the_slider_moves_by_keys_and_finds_the_best(page, made):
    model, X, Y, _ = made
    page.focus("#threshold")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#threshold-value")).to_have_text("0.51")
    page.click("#best")
    P = model.predict_proba(X)
    best = max(evaluate(Y, t / 100 <= P)["f1"] for t in range(1, 101))
    assert live(page)[3] == pytest.approx(best, abs=1e-9)
    expect(page.locator("#best-said")).to_have_text(page.get_attribute("#threshold", "aria-valuetext"))


def test_model_and_rivals_stand_beside_it(page, made):
    model, X, Y, _ = made
    rows = page.eval_on_selector_all(
        "#measure-table tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    for row, value, other in zip(
        rows, evaluate(Y, model.predict(X)).values(), evaluate(Y, np.zeros_like(Y)).values(), strict=False
    ):
        assert (row[1], row[3]) == (f"{100 * value:.1f}", f"{100 * other:.1f}")


def column(page, i):
    return page.eval_on_selector_all(
        "#label-table tbody tr:not([hidden])", f"rows => rows.map(r => r.cells[{i}].innerText)"
    )


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


def test_labels_are_searched_and_lead_to_their_samples(page, made):
    _, _, Y, _ = made
    page.fill("#label-search", "ALPHA")
    expect(page.locator("#label-count")).to_have_text("2 of 6 labels")
    assert column(page, 0) == ["alpha", "alphabet"]
    page.click("#label-table tbody button >> text='alpha'")
    assert page.input_value("#sample-search") == "label: alpha"
    for name in page.eval_on_selector_all("#list option", "all => all.map(o => o.textContent.split(' ')[1])"):
        i = int(name.split("-")[1])
        assert Y[i, 0] or made[0].predict(made[1][[i]])[0, 0]


def test_labels_at_the_threshold(page, made):
    model, X, Y, _ = made
    page.check("#follow")
    move(page, "#threshold", 300)
    given = model.predict_proba(X) >= 0.3
    assert column(page, 2) == [str(count) for count in given.sum(axis=0)]
    recall = (given & (Y == 1)).sum(axis=0) / Y.sum(axis=0)
    assert column(page, 4) == [f"{100 * share:.1f}" for share in recall]
    page.uncheck("#follow")
    assert column(page, 2) == [str(count) for count in model.predict(X).sum(axis=0)]


def test_mistakes_are_stepped_through_largest_first(page, made):
    model, X, Y, _ = made
    Z = model.predict(X)
    seen = []
    total = int((Z != Y).any(axis=1).sum())
    assert page.inner_text("#place") == f"1 of {total}"
    page.keyboard.press("j")  # the focus is elsewhere: letters may be commands of a screen reader
    assert page.inner_text("#place") == f"1 of {total}"
    page.click("#explorer h2")
    for key in ("j", "ArrowRight", "j"):
        seen.append(page.inner_text("#sample-name"))
        page.keyboard.press(key)
    assert page.inner_text("#place") == f"4 of {total}"
    for key in ("k", "ArrowLeft", "k"):
        page.keyboard.press(key)
    assert page.inner_text("#sample-name") == seen[0]
    assert page.get_attribute("#back", "aria-disabled") == "true"
    assert page.get_attribute("#on", "aria-disabled") == "false"
    scores = []
    for _ in range(40):
        scores.append(float(page.inner_text("#sample-name").split("F1 ")[1].removesuffix(" %")))
        page.click("#on")
    assert scores == sorted(scores)
    assert len(set(seen)) == 3


def test_keys_are_left_alone_where_one_types(page):
    page.focus("#sample-search")
    page.keyboard.type("jk")
    assert page.input_value("#sample-search") == "jk"
    expect(page.locator("#place")).to_have_text("There is no such sample.")
    assert not page.is_visible("#sample")


def test_search_finds_by_name_number_and_label(page, made):
    model, X, Y, _ = made
    page.select_option("#which", "all")
    for text in ("sample-117", "117"):
        page.fill("#sample-search", text)
        expect(page.locator("#place")).to_have_text("1 of 1")
        assert page.inner_text("#sample-name").startswith("Sample sample-117: F1 ")
    page.fill("#sample-search", "gamma")
    count = int(((Y == 1) | (model.predict(X) == 1))[:, 2].sum())
    expect(page.locator("#place")).to_have_text(f"1 of {count}")


def test_what_is_not_taken_apart_says_so(page):
    page.select_option("#which", "apart")
    assert page.inner_text("#place") == "1 of 100"
    page.select_option("#which", "right")
    told = set()
    for _ in range(20):
        told.add((page.is_visible("#not-apart"), page.is_visible("#apart")))
        page.click("#on")
    assert told == {(True, False), (False, True)}


def test_a_sample_is_compared_with_the_truth(page, made):
    model, X, Y, _ = made
    page.select_option("#which", "all")
    Z, P = model.predict(X), model.predict_proba(X)
    words = {(1, 1): "✓ right", (1, 0): "○ missed", (0, 1): "✗ wrong"}
    for i in (0, 1, 7, 24, 49):
        page.fill("#sample-search", f"sample-{i:03d}")
        expect(page.locator("#sample-name")).to_contain_text(f"Sample sample-{i:03d}")
        lines = page.eval_on_selector_all(
            "#verdicts tbody tr", "r => r.map(x => [...x.cells].map(c => c.innerText.trim()))"
        )
        found = {line[1]: (line[0], float(line[2])) for line in lines if len(line) > 1}
        for j, label in enumerate(LABELS):
            if Y[i, j] or Z[i, j]:
                assert found[label] == (words[Y[i, j], Z[i, j]], pytest.approx(P[i, j], abs=1.001e-3))
            elif label in found:
                assert found[label][0] == "· neither"


def test_a_mistake_comes_apart_into_predicted_and_true_labels(page, made):
    model, X, Y, _ = made
    i = int(page.inner_text("#sample-name").split("sample-")[1][:3])
    names = {"feature_names": ["<b>bold</b>", *FEATURES[1:]], "label_names": LABELS}
    assert page.inner_text("#words").split("\n") == model.explain(X[[i]], **names).text(0).split("\n")
    page.check("input[value=true]")
    assert page.inner_text("#words").split("\n") == model.explain(X[[i]], Y[[i]], **names).text(0).split("\n")
    said = page.eval_on_selector_all(".bars [role=listitem]", "all => all.map(x => x.textContent)")
    assert len(said) == 10
    assert all(re.search(r" is \S+\. In its own unit: .*residual \S+\.$", words) for words in said)
    assert page.eval_on_selector_all("#odd tbody tr", "rows => rows.length") == 5


def test_what_gets_in_cannot_run(browser, made):
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(made[3].as_uri())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=p onclick=\"document.title = 1\">in</p>')")
    page.click("#p")
    assert page.title() == "A model and its samples"
    assert any("Content Security Policy" in text for text in refused)
    page.close()


def test_names_are_inert(page):
    page.select_option("#which", "all")
    page.fill("#sample-search", "<img")
    expect(page.locator("#verdicts")).to_contain_text(LABELS[-1])
    assert page.query_selector("img") is None
    assert page.query_selector("main b") is None
    assert LABELS[-1] in page.inner_text("#label-table")


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (768, 900), (360, 740)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_wide_and_narrow_light_and_dark(browser, made, width, height, scheme):
    for page in opened(browser, made[3], {"width": width, "height": height}, color_scheme=scheme):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        levels = page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(h => +h.tagName[1])")
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(255, 255, 255)") == (scheme == "light")
        for map_ in page.query_selector_all("#maps canvas"):
            assert map_.bounding_box()["height"] > 150
            assert "A map of 6 labels. The strongest: " in map_.get_attribute("aria-label")


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
    assert {"threshold", "best", "label-search", "follow", "which", "sample-search", "on", "list"} <= reached


def test_what_changes_is_spoken_once_and_nothing_is_at_first(page, made):
    model, X, Y, _ = made
    assert page.eval_on_selector_all("[role=status]", "all => all.map(x => x.textContent)") == [""] * 3
    assert page.get_attribute("#threshold-value", "aria-live") == "off"  # the slider says it itself
    page.evaluate(
        """() => { window.changes = [];
          for (const place of document.querySelectorAll("[role=status]")) {
            const watch = new MutationObserver(() => changes.push(place.textContent));
            watch.observe(place, { childList: true, characterData: true, subtree: true }); } }"""
    )

    def spoken():
        page.wait_for_timeout(900)  # what is typed is over
        return page.evaluate("changes.splice(0).filter(text => text)")

    total = int((model.predict(X) != Y).any(axis=1).sum())
    page.click("#on")
    (words,) = spoken()
    assert words.startswith(f"2 of {total}. {page.inner_text('#sample-name')}. True: ")
    assert " Predicted: " in words
    page.click("#list")  # speaks for itself
    assert spoken() == []
    page.select_option("#which", "all")
    assert spoken() == ["300 samples"]
    for text, found in (("117", "1 sample"), ("gamma", None), ("nobody", "There is no such sample.")):
        page.fill("#sample-search", text)
        (words,) = spoken()
        assert words == (found or page.inner_text("#place").removeprefix("1 of ") + " samples")
    page.focus("#label-search")
    page.keyboard.type("gamm", delay=20)
    assert spoken() == [f"1 of {len(LABELS)} labels"]


def test_the_focus_stays_where_one_steps(page):
    page.focus("#back")
    page.keyboard.press("Enter")  # at the first there is none before it
    assert page.evaluate("document.activeElement.id") == "back"
    page.keyboard.press("j")
    assert page.inner_text("#place").startswith("2 of ")


def test_maps_are_tables_too(page, made):
    _, _, Y, _ = made
    page.click("#together summary")
    assert page.eval_on_selector_all("#together tbody tr", "rows => rows.length") <= 20
    page.select_option("#together select", "2")
    rows = page.eval_on_selector_all(
        "#together tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    shown = page.eval_on_selector_all("#together option", "all => all.map(x => x.textContent)")[1:]
    first = LABELS.index(shown[2])
    expected = 100 * Y[Y[:, first] == 1].mean(axis=0)
    assert {row[0] for row in rows} == {shown[2]}
    assert {row[1] for row in rows} == {name for name, share in zip(LABELS, expected, strict=True) if 0 < share < 100}
    for _, other, share in rows:
        assert float(share) == pytest.approx(expected[LABELS.index(other)], abs=0.051)


@pytest.mark.parametrize("width", [1280, 360])
def test_boxes_are_stops_for_the_keyboard_only_if_they_scroll(browser, made, width):
    for page in opened(browser, made[3], {"width": width, "height": 800}):
        page.wait_for_timeout(100)
        boxes = page.eval_on_selector_all(
            ".scroll",
            """all => all.filter(x => x.checkVisibility()).map(x => [x.getAttribute("aria-label"),
              x.hasAttribute("tabindex"),
              x.scrollWidth > x.clientWidth + 1 || x.scrollHeight > x.clientHeight + 1])""",
        )
        assert len(boxes) == 5
        for name, stop, scrolls in boxes:
            assert stop == scrolls, name


def test_text_can_be_read(browser, made):
    """Contrast of all texts on the paper and on the shade: at least 4.5, as WCAG asks for."""
    for scheme in ("light", "dark"):
        for page in opened(browser, made[3], {"width": 1280, "height": 900}, color_scheme=scheme):
            found = page.evaluate(
                """names => Object.fromEntries(names.map(name =>
                  [name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim()]))""",
                ["paper", "shade", "ink", "muted", "good", "bad", "warm", "link"],
            )
            light = {name: luminance(colour) for name, colour in found.items()}
            for text in ("ink", "muted", "good", "bad", "warm", "link"):
                for ground in ("paper", "shade"):
                    low, high = sorted((light[text], light[ground]))
                    assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, text, ground)


def luminance(colour):
    digits = colour.removeprefix("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_print_has_all_labels_and_no_controls(page):
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert not page.is_visible("#list")
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_images_are_drawn(browser, tmp_path):
    data = make_composite_digits(400, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifier(random_state=0).fit(data.X, data.Y)
    path = write_model_report(model, data.X[:60], data.Y[:60], tmp_path / "page.html", shape=(8, 8))
    for page in opened(browser, path, {"width": 1280, "height": 900}):
        page.select_option("#which", "all")
        labels = int(model.predict(data.X[:1]).sum())
        drawn = page.query_selector_all(".images canvas")
        assert len(drawn) == labels + 2
        ink = page.evaluate(
            """() => [...document.querySelector(".images canvas").getContext("2d").getImageData(0, 0, 8, 8).data]
              .filter((_, i) => i % 4 === 0)"""
        )
        order = np.argsort(ink, kind="stable")
        assert (np.diff(data.X[0][order]) <= 1e-9).sum() >= 50  # the more, the darker


def test_fast_at_ten_thousand_samples(browser, tmp_path):
    data = make_label_subspaces(10_000, 30, 50, n_components=2, noise=0.5, random_state=0)
    model = SDGSClassifier(n_components=2, cv=2, random_state=0).fit(data.X[:500], data.Y[:500])
    path = write_model_report(model, data.X, data.Y, tmp_path / "page.html", max_explained=50)
    assert path.stat().st_size < 6e6
    for page in opened(browser, path, {"width": 1280, "height": 900}):
        page.select_option("#which", "all")
        assert page.inner_text("#place") == "1 of 10,000"
        assert page.eval_on_selector_all("#list option", "all => all.length") == 200
        page.check("#follow")
        move(page, "#threshold", 250)
        expected = evaluate(data.Y, model.predict_proba(data.X) >= 0.25)
        np.testing.assert_allclose(live(page), list(expected.values()), rtol=0, atol=1e-9)
        page.select_option("#list", "150")
        assert page.inner_text("#place") == "151 of 10,000"
