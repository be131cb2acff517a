"""Templates of HTML pages."""

from typing import Any


def template(package: str, name: str) -> Any:
    """A Jinja2 template of a package. Values are escaped, and a missing value is an error."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("The report needs Jinja2: pip install 'sdgs[report]'.") from None
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
