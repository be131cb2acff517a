"""How the pages in this folder, the examples and the docstrings become a site: `make docs`."""

import inspect
import os
import re
import warnings

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import sdgs

# Examples are small: threads of BLAS only get in each other's way, the more so where something else runs. Said before
# NumPy is loaded, which asks only once.
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
# Nothing is fetched when the site is built, so what other libraries document is named and not linked.
nitpick_ignore_regex = [(r"py:.*", r"(joblib|matplotlib|numpy|pandas|scipy|sklearn)\..*")]
exclude_patterns = ["_templates", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]

myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 3

# Names of types are in the docstrings, for people.
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
    "write_computation_times": False,  # that page would load scripts from elsewhere
}
# Examples are to run without a warning, as the tests are.
warnings.filterwarnings("error", module="__main__")

html_theme = "pydata_sphinx_theme"
html_title = "sdgs"
html_show_search_summary = False  # those are fetched, which browsers refuse for pages in the file system
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {"text": "sdgs"},
    "show_prev_next": True,
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "start": [], "changelog": []}  # they have no pages below them


def mathml(formula, **options):
    """A formula as MathML, which browsers draw themselves: no script, and no font to fetch."""
    braced = re.sub(r"(\\t?frac)(\d)(\d)", r"\1{\2}{\3}", formula)  # which docutils reads as twelve over what follows
    return tex2mathml(braced, **options)


def inline_math(self, node):
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def displayed_math(self, node):
    self.body.append(f'<div class="formula">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def skip_inherited_from_elsewhere(app, what, name, obj, skip, options):
    """Methods that come from scikit-learn and from collections are documented there."""
    module = getattr(inspect.unwrap(obj) if callable(obj) else getattr(obj, "fget", obj), "__module__", None)
    return True if isinstance(module, str) and not module.startswith("sdgs") else None


def link_to_gallery(app, docname, source):
    """Pages link to the program of an example, which a code host shows. Here its page is better."""
    source[0] = re.sub(r"\(\.\./examples/(\w+)\.py\)", r"(gallery/\1.rst)", source[0])


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(inline_math, None), block_renderers=(displayed_math, None))
    app.connect("source-read", link_to_gallery)
    app.connect("autodoc-skip-member", skip_inherited_from_elsewhere)


html_math_renderer = "mathml"
