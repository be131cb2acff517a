"""The report's page in a real browser: Chromium, where it is installed."""

import pytest

from sdgs.experiments import write_report


@pytest.fixture(scope="module")
def page_file(made_records):
    return write_report(made_records[1])


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_page_fits_and_asks_for_nothing(browser, page_file, width, height):
    page = browser.new_page(viewport={"width": width, "height": height})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href")) is not None
    assert page.query_selector_all("figure svg")
    for picture in page.query_selector_all("figure svg"):
        assert picture.bounding_box()["height"] > 50
    # Headings go down one level at a time.
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
    page.close()


def test_the_page_shows_what_the_tables_say(browser, page_file):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    shown = page.eval_on_selector_all(
        ".results tbody tr:not(.set)", "rows => rows.map(r => [...r.cells].map(c => c.innerText.trim()))"
    )
    markdown = [
        [cell.strip() for cell in line.split("|")[2:-1]]
        for line in (page_file.parent / "tables.md").read_text().splitlines()
        if line.count("|") == 11 and not line.startswith(("|---", "| Data set"))
    ]
    assert [[cell.split(" ±")[0] for cell in row[:8]] for row in shown] == [row[:8] for row in markdown]
    page.close()


def test_print_is_more_than_a_page_and_has_the_text(browser, page_file):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    pdf = page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") >= 2
    page.close()
