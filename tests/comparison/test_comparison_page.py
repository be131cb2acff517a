"""The page about a comparison: what it shows, alone and in Chromium."""

import html
import re

import numpy as np
import pytest

from comparison_results import make_comparison, make_result
from sdgs.comparison import write_comparison_page
from sdgs.comparison._comparison_figures import Axis, critical_difference_figure, round_ticks, times_figure

ODD = ["<img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "\x1b]0;title\x07"]
NOISE = np.random.default_rng(0).normal(0, 0.004, (3, 5))


def small(label_names=("a", "b", "c")):
    k = len(label_names)
    results = [
        make_result("a", 0.7 + NOISE[0], seconds=0.3, n_labels=k),
        make_result("b", 0.69 + NOISE[1], seconds=20, n_labels=k, title=ODD[0], warnings={"<b>odd</b>": 2}),
        make_result("c", 0.5 + NOISE[2], seconds=4, n_labels=k),
        make_result("f", [np.nan, *[0.5] * 4], failures={0: "ValueError: <i>no</i>"}),
    ]
    left_out = {"Slow & big": "one fit would take about 20 minutes"}
    return make_comparison(results, left_out=left_out, label_names=label_names)


def rows(page, section):
    """The text of the cells of the first table of a section."""
    part = page[page.index(f'id="{section}"') :]
    body = re.search(r"<tbody>(.*?)</tbody>", part, re.DOTALL)[1]
    cells = [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)]
    return [[" ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in row] for row in cells]


def test_the_page_shows_the_comparison(tmp_path):
    comparison = small()
    path = write_comparison_page({"songs.csv": comparison}, tmp_path / "new" / "page.html", title="Which & why")
    page = path.read_text()
    assert "<title>Which &amp; why</title>" in page
    assert comparison.conclusion() in html.unescape(page)
    main = rows(page, "data-0")
    summary = comparison.summary()
    assert [row[0] for row in main[:3]] == [f"{i}. {row.title}" for i, row in enumerate(summary[:3], 1)]
    assert [row[1] for row in main[:3]] == [f"{100 * row.mean:.1f}" for row in summary[:3]]
    assert main[3][:2] == ["4. F", "failed"]
    assert main[0][4] == "best"
    assert main[2][4].startswith("\N{MINUS SIGN}2")
    measures = rows(page, "data-0-measures")
    assert len(measures) == 3
    assert len(measures[0]) == 6
    labels = rows(page, "data-0-labels")
    assert [row[:3] for row in labels] == [["a", "2", "20.0"], ["b", "1", "80.0"], ["c", "0", "–"]]  # noqa: RUF001
    for text in (
        "Slow &amp; big",
        "failed on 1 of 5 splits: ValueError: &lt;i&gt;no&lt;/i&gt;",
        "&lt;b&gt;odd&lt;/b&gt;",
    ):
        assert text in page
    assert "numpy" not in page
    assert "n<sub>test</sub>/n<sub>train</sub> is 0.25" in page


def test_one_comparison_needs_no_name(tmp_path):
    page = write_comparison_page(small(), tmp_path / "page.html").read_text()
    assert "<h1>Comparison of methods</h1>" in page
    with pytest.raises(ValueError, match="must not be empty"):
        write_comparison_page({}, tmp_path / "page.html")


def test_several_data_sets_have_ranks(tmp_path):
    named = {name: small() for name in ("one", "two", ODD[0])}
    page = write_comparison_page(named, tmp_path / "page.html").read_text()
    ranks = rows(page, "ranks")
    assert [row[:2] for row in ranks] == [["A", "1.00"], [ODD[0], "2.00"], ["C", "3.00"]]
    assert [cell[-3:] for cell in ranks[0][3:]] == ["(1)"] * 3
    assert "CD = 1.91" in page
    assert [f'id="data-{i}"' in page for i in range(4)] == [True, True, True, False]
    other = make_comparison([make_result("else", [0.5, 0.5])])
    page = write_comparison_page({"one": small(), "two": other}, tmp_path / "page.html").read_text()
    assert "fewer than two methods in common" in page


def test_odd_names_are_shown_as_text(tmp_path):
    names = {name: small(label_names=(*ODD, "", "\ud800")) for name in ("</style><script>alert(1)</script>", ODD[2])}
    page = write_comparison_page(names, tmp_path / "page.html", title=ODD[2]).read_bytes().decode()
    assert not [character for character in page if character < " " and character != "\n"]
    assert "<script" not in page
    assert "<img" not in page
    labels = [row[0] for row in rows(page, "data-0-labels")]
    assert labels == [ODD[0], ODD[1], "\\x1b]0;title\\x07", "(no name)", "\\ud800"]


def test_all_methods_may_have_failed(tmp_path):
    failed = [make_result(name, [np.nan], failures={0: "ValueError: no"}) for name in "ab"]
    page = write_comparison_page(make_comparison(failed), tmp_path / "page.html").read_text()
    assert "No method succeeded on all splits." in page
    equal = [make_result(name, [0.5, 0.5], seconds=0) for name in "ab"]
    assert "0.5 s" not in write_comparison_page(make_comparison(equal), tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (61.2, 64.9, [62, 63, 64]), (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0])],
)
def test_round_ticks(low, high, ticks):
    assert round_ticks(low, high, 5) == pytest.approx(ticks)


def test_positions():
    axis = Axis([10.0, 20.0])
    assert 0 < axis.position(10) < axis.position(15) == 50 < axis.position(20) < 100
    assert Axis([5.0, 5.0]).position(5) == pytest.approx(50)
    points = times_figure(small().summary())["points"]
    assert [point["number"] for point in points] == [1, 2, 3]
    assert 0 < points[0]["x"] < points[2]["x"] < points[1]["x"] < 100
    assert points[0]["y"] < points[1]["y"] < points[2]["y"]  # from the top
    x = {point["number"]: point["x"] for point in points}  # logarithmic
    assert (x[3] - x[1]) / (x[2] - x[1]) == pytest.approx(np.log(4 / 0.3) / np.log(20 / 0.3), abs=1e-3)


def test_circles_do_not_cover_each_other():
    equal = make_comparison([make_result(name, [0.5, 0.5, 0.5]) for name in "abc"])
    figure = times_figure(equal.summary())
    x = [point["x"] for point in figure["points"]]
    assert figure["moved"]
    assert np.diff(x).min() > 2
    assert not times_figure(small().summary())["moved"]


def test_the_critical_difference_diagram():
    from sdgs.comparison import rank_methods

    ranks = rank_methods({str(i): small() for i in range(4)})
    figure = critical_difference_figure(ranks)
    assert [method["text"].split()[-1] for method in figure["methods"][:2]] == ["1.00", "2.00"]
    (x1, _), (x2, _), (x3, _) = figure["ticks"]
    assert [method["x"] for method in figure["methods"]] == [x1, x2, x3]
    assert figure["difference"]["x2"] - x1 == pytest.approx(ranks.critical_difference * (x2 - x1), abs=0.1)
    assert [(bar["x1"], bar["x2"]) for bar in figure["bars"]] == [(x1 - 3, x2 + 3), (x2 - 3, x3 + 3)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_loads_nothing_and_runs_nothing(browser, tmp_path, width, scheme):
    long_name = "a-very-long-name-without-a-break-" * 4
    named = {name: small(label_names=(*ODD, long_name)) for name in ("one", long_name)}
    path = write_comparison_page(named, tmp_path / "page.html")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("dialog", lambda dialog: messages.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    assert messages == []
    assert [url for url in requests if url != path.as_uri() and not url.startswith("data:")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.query_selector_all("script, img") == []
    ink, paper = page.eval_on_selector("body", "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (brightness[0] < brightness[1]) == (scheme == "light")
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href")) is not None
    dot, interval = (page.query_selector(f".similar .{name}").bounding_box() for name in ("dot", "interval"))
    assert interval["x"] < dot["x"] < interval["x"] + interval["width"]
    page.close()
