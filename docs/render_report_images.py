"""Pictures of the report page for `report.md`: `python docs/render_report_images.py`.

Needs Chromium, Playwright and Pillow, and the Medical data in SDGS_DATA or in ../shared/data.
"""

import io
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits, read
from sdgs.report import fit_compared_methods, write_model_report

IMAGES = Path(__file__).parent / "images"
DATA = Path(os.environ.get("SDGS_DATA") or Path(__file__).parents[2] / "shared" / "data")


def write_digits(path: Path) -> None:
    """The page about sums of two digits."""
    train = make_composite_digits(3000, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(300, max_labels=2, subset="test", random_state=1)
    model = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    names = [f"digit_{i}" for i in range(10)]
    others = fit_compared_methods(train.X, train.Y)
    write_model_report(
        model, test.X, test.Y, path, compared_methods=others, label_names=names, shape=(8, 8), title="Sums of digits"
    )


def write_medical(path: Path) -> None:
    """The page about the paper's Medical data."""
    train, test = (
        read(DATA / "medical" / f"medical-{part}.arff", xml=DATA / "medical" / "medical.xml")
        for part in ("train", "test")
    )
    model = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    names = {"feature_names": train.feature_names, "label_names": train.label_names}
    write_model_report(model, test.X, test.Y, path, **names, title="Medical")


def save_picture(
    browser: Browser, page_file: Path, name: str, first: str, width: int, height: int, **options: Any
) -> None:
    """Save the page from the element ``first`` on, with few colours, which keeps the file small."""
    page = browser.new_page(viewport={"width": width, "height": height}, **options)
    page.goto(page_file.as_uri())
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    page.locator(first).evaluate("element => scrollTo(0, element.getBoundingClientRect().top + scrollY - 12)")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        IMAGES / f"{name}.png", optimize=True
    )
    page.close()


def main() -> None:
    """Write both pages and their pictures."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        digits, medical = Path(folder) / "digits.html", Path(folder) / "medical.html"
        write_digits(digits)
        write_medical(medical)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        save_picture(browser, digits, "report-wide", "header", 1200, 1130)
        save_picture(browser, medical, "report-dark", "#explorer", 1200, 960, color_scheme="dark")
        save_picture(browser, digits, "report-narrow", "#sample", 390, 1100)


if __name__ == "__main__":
    main()
