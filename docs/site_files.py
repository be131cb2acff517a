"""Files and tags of the site that are made from its pages: ``llms.txt``, ``sitemap.xml``, tags for previews of links.

Sitemaps and preview images need the public address of the site. It is the environment variable ``DOCS_ADDRESS``, else
``Documentation`` in the table ``project.urls`` of pyproject.toml. Without it there is no sitemap. All other links are
relative, so that the site works in any folder.
"""

import html
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

SUMMARY = "Multi-label classification that decomposes every sample into one contribution per label and a residual."
CARD = "_static/social-card.png"
SECTIONS = {"gallery/": "Examples", "api/": "API reference"}  # by the beginning of the name; others are pages
NOT_LISTED = ("genindex", "gallery/index", "gallery/sg_execution_times")
MAX_DESCRIPTION = 200


@dataclass(frozen=True)
class Page:
    """A page of the site: its name without suffix, its title and what it is about."""

    name: str
    title: str
    description: str


def public_address():
    """The address of the site with a slash at its end; None if there is none."""
    with open(Path(__file__).parents[1] / "pyproject.toml", "rb") as file:
        urls = tomllib.load(file)["project"].get("urls", {})
    address = os.environ.get("DOCS_ADDRESS") or urls.get("Documentation")
    return address.rstrip("/") + "/" if address else None


def describe(doctree):
    """The first paragraph of a page, in one line of limited length."""
    from docutils import nodes  # here, because the tests of the other functions need no Sphinx

    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if text and isinstance(paragraph.parent, nodes.section | nodes.document):
            return text if len(text) <= MAX_DESCRIPTION else text[:MAX_DESCRIPTION].rsplit(" ", 1)[0] + " ..."
    return ""


def llms_text(version, pages):
    """A list of all pages for language models, as https://llmstxt.org describes it."""
    lines = [f"# sdgs {version}", "", f"> {SUMMARY}"]
    for beginning, section in (("", "Pages"), *SECTIONS.items()):
        lines += ["", f"## {section}", ""]
        for page in pages:
            own = next((known for known in SECTIONS if page.name.startswith(known)), "")
            if own == beginning and page.name not in NOT_LISTED:
                end = f": {page.description}" if page.description else ""
                lines.append(f"- [{page.title}]({page.name}.html){end}")
    return "\n".join(lines) + "\n"


def sitemap(address, pages):
    """The addresses of all pages, as https://www.sitemaps.org describes them."""
    lines = [f"  <url><loc>{html.escape(address + page.name)}.html</loc></url>" for page in pages]
    begin = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return "\n".join([begin, *lines, "</urlset>\n"])


def preview_tags(title, description, address, name):
    """Tags with which other sites show a link to a page."""
    values = {"og:type": "website", "og:site_name": "sdgs", "og:title": title, "og:description": description or SUMMARY}
    if address:
        values |= {"og:url": f"{address}{name}.html", "og:image": address + CARD, "twitter:card": "summary_large_image"}
    tags = [f'<meta property="{key}" content="{html.escape(value)}">' for key, value in values.items()]
    return "\n".join([*tags, f'<meta name="description" content="{html.escape(values["og:description"])}">'])


def add_preview_tags(app, pagename, templatename, context, doctree):
    """Sphinx calls this for each page."""
    if doctree is not None:
        title = re.sub(r"<[^>]*>", "", context["title"])
        tags = preview_tags(html.unescape(title), describe(doctree), public_address(), pagename)
        context["metatags"] = context.get("metatags", "") + tags


def write_site_files(app, exception):
    """Sphinx calls this when all pages are written."""
    if exception is None and app.builder.format == "html":
        env, folder = app.env, Path(app.outdir)
        names = sorted(env.found_docs)
        pages = [Page(name, env.titles[name].astext(), describe(env.get_doctree(name))) for name in names]
        (folder / "llms.txt").write_text(llms_text(app.config.version, pages), encoding="utf-8")
        if address := public_address():
            (folder / "sitemap.xml").write_text(sitemap(address, pages), encoding="utf-8")
