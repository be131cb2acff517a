"""Sphinx builds a site from the pages in this folder, the examples and the docstrings: `make docs`."""

import inspect
import os
import re
import sys
import warnings
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import sdgs

sys.path.insert(0, str(Path(__file__).parent))
import site_files

# The examples are small, so several BLAS threads would only slow them down. NumPy reads this when it is imported.
os.environ["OMP_NUM_THREADS"] = "1"

project = "sdgs"
author = "The sdgs developers"
version = release = sdgs.__version__
html_show_copyright = html_show_sourcelink = html_show_sphinx = False

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
nitpicky = True
# The build fetches nothing, so references to other libraries are not linked.
nitpick_ignore_regex = [(r"py:.*", r"(joblib|matplotlib|numpy|pandas|scipy|sklearn)\..*")]
exclude_patterns = ["_templates", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]

myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 3

# The docstrings already name the types.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
templates_path = ["_templates"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,  # this page would load scripts from other hosts
}
# A warning in an example is an error, as in the tests.
warnings.filterwarnings("error", module="__main__")

html_theme = "pydata_sphinx_theme"
html_title = "sdgs"
html_show_search_summary = False  # summaries are fetched, which browsers block for local files
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_baseurl = site_files.public_address() or ""
html_theme_options = {
    "logo": {"text": "sdgs"},
    "show_prev_next": True,
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_end": ["version", "theme-switcher"],
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "start": [], "changelog": []}  # no subpages


def mathml(formula, **options):
    """A formula as MathML, which browsers render without scripts or fonts."""
    # Without braces docutils reads both digits as one numerator.
    braced = re.sub(r"(\\t?frac)(\d)(\d)", r"\1{\2}{\3}", formula)
    return tex2mathml(braced, **options)


def inline_math(self, node):
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def displayed_math(self, node):
    self.body.append(f'<div class="formula">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def skip_inherited_from_other_packages(app, what, name, obj, skip, options):
    """Skip methods inherited from other packages."""
    module = getattr(inspect.unwrap(obj) if callable(obj) else getattr(obj, "fget", obj), "__module__", None)
    return True if isinstance(module, str) and not module.startswith("sdgs") else None


def link_to_gallery(app, docname, source):
    """Replace links to the program of an example by links to its page in the gallery."""
    source[0] = re.sub(r"\(\.\./examples/(\w+)\.py\)", r"(gallery/\1.rst)", source[0])


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(inline_math, None), block_renderers=(displayed_math, None))
    app.connect("source-read", link_to_gallery)
    app.connect("autodoc-skip-member", skip_inherited_from_other_packages)
    app.connect("html-page-context", site_files.add_preview_tags)
    app.connect("build-finished", site_files.write_site_files)


html_math_renderer = "mathml"
