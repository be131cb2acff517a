"""The page about suspicious labels: what it shows, alone and in Chromium."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sdgs.audit import find_differing_duplicates, rank_suspicious_labels, write_audit_page

N, LABELS = 40, ["alpha", "beta", "<img src=x onerror=alert(1)>", "a-very-long-name-without-a-break-" * 4]
FEATURES = ["<b>bold</b>", *(f"measurement_{j}" for j in range(7))]


def results(*, one_label=False, n_pairs=None):
    rng = np.random.default_rng(0)
    X, P = rng.standard_normal((N, 8)), rng.random((N, 4))
    Y = (rng.random((N, 4)) < 0.4).astype(int)
    X[3], Y[3, 0], Y[1, 0] = X[1], 1, 0
    X[5, 2] = np.nan
    if one_label:
        Y = np.eye(4, dtype=int)[rng.integers(4, size=N)]
        P /= P.sum(axis=1, keepdims=True)
    names = [f"s{i}" for i in range(N)]
    ranked = rank_suspicious_labels(Y, P, n_pairs=n_pairs, one_label=one_label, label_names=LABELS, sample_names=names)
    return ranked, find_differing_duplicates(X, Y, label_names=LABELS, sample_names=names), X, Y


def write(folder, **options):
    ranked, duplicates, X, Y = results(
        **{name: options.pop(name) for name in ("one_label", "n_pairs") if name in options}
    )
    path = folder / "page.html"
    assert write_audit_page(ranked, duplicates, X, Y, path, **{"feature_names": FEATURES, **options}) == path
    return path


def rows(page, section):
    """The text of the cells of the table of a section."""
    part = re.search(rf'<section id="{section}".*?</section>', page, re.DOTALL)[0]
    body = re.search(r"<tbody>(.*?)</tbody>", part, re.DOTALL)[1]
    return [
        [
            " ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split())
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)
        ]
        for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    ]


def test_the_page_shows_the_pairs_with_their_samples(tmp_path):
    ranked, duplicates, X, Y = results()
    page = write(tmp_path, title="Doubtful & odd").read_text()
    assert "<title>Doubtful &amp; odd</title>" in page
    wrong = rows(page, "wrong")
    assert [row[0] for row in wrong] == list(ranked.wrong.sample_names)
    assert [row[1] for row in wrong] == [LABELS[j] for j in ranked.wrong.labels]
    assert [float(row[2]) for row in wrong] == pytest.approx(ranked.wrong.probability, abs=5e-4)
    first = ranked.wrong.rows[0]
    others = [LABELS[j] for j in np.flatnonzero(Y[first]) if j != ranked.wrong.labels[0]]
    assert wrong[0][3] == " ".join(others) or (wrong[0][3] == "none" and not others)
    deviations = np.abs(X[first] - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    furthest = int(np.nanargmax(deviations))
    assert wrong[0][4].startswith(f"{FEATURES[furthest]} {X[first, furthest]:.3g}")
    assert len(rows(page, "missing")) == len(ranked.missing)
    (duplicate,) = rows(page, "duplicates")
    assert duplicate[:2] == ["s1 and s3", "equal"]
    assert duplicate[3] == " ".join(duplicates.only_second(0))
    counts = {row[0]: row[1:] for row in rows(page, "labels")}
    assert counts["alpha"] == [str(Y[:, 0].sum()), str(Y[:, 0].sum()), str(N - Y[:, 0].sum())]


def test_long_tables_say_how_many_rows_there_are(tmp_path):
    page = write(tmp_path, max_shown=3).read_text()
    assert len(rows(page, "wrong")) == 3
    assert f"... and {len(results()[0].wrong) - 3} more." in page
    page = write(tmp_path, max_shown=0).read_text()
    assert "<p>None.</p>" in page


def test_one_class_per_sample(tmp_path):
    page = write(tmp_path, one_label=True).read_text()
    assert 'id="missing"' not in page
    assert "More probable" in page
    assert len(rows(page, "wrong")) == N


def test_words_are_ranked_by_their_rarity_and_names_come_from_data_frames(tmp_path):
    words = np.zeros((8, 20))
    words[:, 0], words[2, 7] = 1, 1
    Y = np.array([[1], [0]] * 4)
    ranked = rank_suspicious_labels(Y, np.full((8, 1), 0.5), n_pairs=None)
    frame = pd.DataFrame(words, columns=[f"word{j}" for j in range(20)])
    for X in (frame, csr_array(words)):
        names = None if X is frame else list(frame.columns)
        path = write_audit_page(ranked, find_differing_duplicates(X, Y), X, Y, tmp_path / "p.html", feature_names=names)
        values = {row[0]: row[4] for row in rows(path.read_text(), "wrong")}
        assert values["2"] == "word7 1, word0 1"
        assert values["0"] == "word0 1"


def test_invalid_arguments(tmp_path):
    ranked, duplicates, X, Y = results()
    with pytest.raises(ValueError, match="Y must have one column for each of the 4 labels"):
        write_audit_page(ranked, duplicates, X, Y[:, :2], tmp_path / "page.html")
    with pytest.raises(ValueError, match="feature_names must have 8 names"):
        write_audit_page(ranked, duplicates, X, Y, tmp_path / "page.html", feature_names=["a"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_loads_nothing_and_runs_nothing(browser, tmp_path, width, scheme):
    path = write(tmp_path)
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
    assert page.eval_on_selector("body", "e => getComputedStyle(e).fontFamily").startswith(
        "system-ui"
    )  # the style applies
    ink, paper = page.eval_on_selector("body", "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (brightness[0] < brightness[1]) == (scheme == "light")
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href")) is not None
    for cell in page.query_selector_all("#wrong tbody tr:first-child td"):  # on narrow screens too
        assert cell.bounding_box()["width"] > 40
    page.close()


def test_odd_names_are_shown_as_text(tmp_path):
    names = ["\ud800", "\x1b]0;title\x07", "</style><script>alert(1)</script>", "{{ 7 * 7 }}", ""]
    Y = np.eye(5, dtype=int)
    ranked = rank_suspicious_labels(Y, np.full((5, 5), 0.5), n_pairs=None, label_names=names, sample_names=names)
    X = np.ones((5, 5)) + 0.01 * Y
    duplicates = find_differing_duplicates(X, Y, label_names=names, sample_names=names, max_distance=1.5)
    assert len(duplicates)
    path = write_audit_page(ranked, duplicates, X, Y, tmp_path / "p.html", feature_names=names, title=names[1])
    page = path.read_bytes().decode()
    assert not [character for character in page if character < " " and character != "\n"]
    assert "<script" not in page
    assert "\\ud800" in page
    assert "49" not in rows(page, "labels")[3][0]
    assert {row[0] for row in rows(page, "labels")} == {
        "\\ud800",
        "\\x1b]0;title\\x07",
        names[2],
        names[3],
        "(no name)",
    }
