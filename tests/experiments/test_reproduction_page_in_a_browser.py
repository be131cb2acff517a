"""The page of the reproduction in Chromium; skipped if it is not installed."""

import pytest

from sdgs.experiments import write_report

pytestmark = pytest.mark.slow  # the fixture ``records`` takes long


@pytest.fixture(scope="module")
def page_file(records):
    return write_report(records)


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_page_fits_and_loads_nothing(browser, page_file, width, height):
    page = browser.new_page(viewport={"width": width, "height": height})
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    assert messages == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href")) is not None
    assert page.query_selector_all("figure svg")
    for picture in page.query_selector_all("figure svg"):
        assert picture.bounding_box()["height"] > 50
    # No level of headings is skipped.
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
    page.close()


def test_the_page_agrees_with_the_markdown_tables(browser, page_file):
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


def test_the_page_can_be_printed(browser, page_file):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    pdf = page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") >= 2
    page.close()
