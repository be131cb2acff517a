"""Pages made from templates."""

from typing import Any


def template(package: str, name: str) -> Any:
    """A Jinja2 template of a package: what is put into it is escaped, and what it lacks is an error."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("The report needs Jinja2: pip install 'sdgs[report]'.") from None
    pages = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(name)
