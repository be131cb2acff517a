"""Templates of HTML pages."""

from typing import Any

from sdgs._utils._text import printable


def template(package: str, name: str) -> Any:
    """A Jinja2 template of a package. Values are escaped and printable; a missing value is an error."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("The report needs Jinja2: pip install 'sdgs[report]'.") from None
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _printable_text(value: Any) -> Any:
    """Text without control characters and surrogates, which UTF-8 cannot encode; markup as it is."""
    return printable(value, keep="\n\t") if isinstance(value, str) and not hasattr(value, "__html__") else value
