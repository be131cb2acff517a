"""The syntax of ARFF: comments, quotes, the header, and the values of rows, as Weka reads and writes them.

Weka's rules are followed, with two exceptions: a comment starts at a percent sign after a space, not within a word, and
values are separated by commas or tabs, not by spaces.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_selection import first_repeated
from sdgs.datasets.readers._open import Stream, read_lines

AttributeType = str | tuple[str, ...]  # "number", "text", or the categories of a nominal attribute

# All parts of the expressions are possessive, so that none takes exponential time to reject a line.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_FLAGS = re.ASCII | re.DOTALL
_BEFORE_COMMENT = re.compile(rf"(?:{_QUOTED}|\\.|(?<=\S)%|[^%])*+", _FLAGS)
_KEYWORD = re.compile(r"(@[a-zA-Z]++)\s*+(.*)", _FLAGS)
_ATTRIBUTE = re.compile(rf"(?P<name>{_QUOTED}|[^\s{{}}%,]++)(?:\s++|(?=\{{))(?P<type>.++)", _FLAGS)
_NOMINAL = re.compile(rf"""\{{\s*+(?:(?:{_QUOTED}|[^\s,'"{{}}]++)\s*+(?:,\s*+|(?=\}})))++\}}""", _FLAGS)
_NOMINAL_VALUE = re.compile(rf"""{_QUOTED}|[^\s,'"{{}}]++""", _FLAGS)
_DENSE_ROW = re.compile(rf"""(?:\s*+(?:{_QUOTED}|[^,'"{{}}]*+)\s*+,)++""", _FLAGS)
_DENSE_VALUE = re.compile(rf"""\s*+({_QUOTED}|[^,'"{{}}]*+)\s*+,""", _FLAGS)
_SPARSE_ROW = re.compile(rf"""(?:\s*+[0-9]{{1,9}}\s++(?:{_QUOTED}|[^\s,'"{{}}]++)\s*+,)++""", _FLAGS)
_SPARSE_VALUE = re.compile(rf"""\s*+([0-9]++)\s++({_QUOTED}|[^\s,'"{{}}]++)\s*+,""", _FLAGS)
_WEIGHT = re.compile(r".*[\s,}]\{[^{}]*+\}", _FLAGS)

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)", _FLAGS)
_CONTROL_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_TYPES = {"numeric": "number", "real": "number", "integer": "number", "string": "text"}
_UNSUPPORTED_TYPES = {
    "date": "dates are not supported. Write them as numbers, such as days, or as strings, which are dropped",
    "relational": "relational attributes are not supported, because a sample must be one row",
}


class ArffLines:
    """The lines of a file without comments and empty lines, and errors with the number of the last line."""

    def __init__(self, stream: Stream, max_bytes: int | None) -> None:
        self.name, self.number = stream.name, 0
        self._lines = read_lines(stream, max_bytes)

    def __iter__(self) -> Iterator[str]:
        for text in self._lines:
            self.number += 1
            line = text.strip()
            if "%" in line:
                line = without_comment(line)
            if line:
                yield line

    def error(self, problem: str) -> DataFileError:
        """The error with the file and the line."""
        return DataFileError(f"{self.name}, line {self.number}: {problem}.")


@dataclass
class ArffHeader:
    """The relation and the attributes of a file."""

    relation: str | None = None
    attributes: dict[str, AttributeType] = field(default_factory=dict)


def read_header(lines: ArffLines) -> ArffHeader:
    """Read up to the line ``@data``."""
    header = ArffHeader()
    for line in lines:
        match = _KEYWORD.fullmatch(line)
        keyword, rest = (match[1].lower(), match[2]) if match else ("", "")
        if keyword == "@relation":
            if header.relation is not None or not rest:
                raise lines.error("expected one line @relation NAME")
            header.relation = unquote(rest)
        elif keyword in ("@attribute", "@data") and header.relation is None:
            raise lines.error(f"expected @relation NAME before {keyword}")
        elif keyword == "@attribute":
            name, type_ = _parse_attribute(lines, rest)
            if name in header.attributes:
                raise lines.error(f"a second attribute named {name!r}. Rename one")
            header.attributes[name] = type_
        elif keyword == "@data" and not rest:
            if not header.attributes:
                raise lines.error("there are no attributes before @data")
            return header
        else:
            raise lines.error(f"expected @relation, @attribute, @data or a comment, got {line[:40]!r}")
    raise lines.error("the file ends before @data")


def _parse_attribute(lines: ArffLines, text: str) -> tuple[str, AttributeType]:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise lines.error(
            "not an attribute: expected @attribute NAME TYPE, with quotes around a name with spaces, commas, braces or "
            "percent signs"
        )
    return unquote(match["name"]), _parse_type(lines, match["type"])


def _parse_type(lines: ArffLines, text: str) -> AttributeType:
    if text.startswith("{"):
        if not _NOMINAL.fullmatch(text):
            if _NOMINAL.match(text) and _WEIGHT.fullmatch(text):
                raise lines.error("weights of attributes are not supported. Remove {...} at the end of the line")
            raise lines.error("the values of a nominal attribute must be {a,b,c}, with quotes around spaces")
        values = tuple(map(unquote, _NOMINAL_VALUE.findall(text)))
        repeated = first_repeated(values)
        if repeated is not None:
            raise lines.error(f"the nominal attribute has the value {repeated!r} twice")
        return values
    word = text.split()[0].lower()
    if word in _UNSUPPORTED_TYPES:
        raise lines.error(_UNSUPPORTED_TYPES[word])
    if word in _TYPES and _WEIGHT.fullmatch(text):
        raise lines.error("weights of attributes are not supported. Remove {...} at the end of the line")
    if text.lower() not in _TYPES:
        raise lines.error(
            f"attributes of type {text[:30]!r} are not supported. Expected numeric, real, integer, string or {{a,b,c}} "
            "after the name, and quotes around a name with spaces"
        )
    return _TYPES[word]


def split_dense(lines: ArffLines, line: str) -> list[str | None]:
    """The values of a dense row; None for missing values, which are ``?`` or empty. Tabs may be in place of commas."""
    if "\t" in line and not any(mark in line for mark in ",'\""):
        line = line.replace("\t", ",")
    if not _DENSE_ROW.fullmatch(line + ","):
        if _WEIGHT.fullmatch(line):
            raise lines.error("weights of samples are not supported. Remove {...} at the end of the row")
        raise lines.error("expected values with commas between them, and quotes around values with quotes or braces")
    return [_parse_value(text.strip()) for text in _DENSE_VALUE.findall(line + ",")]


def split_sparse(lines: ArffLines, line: str) -> tuple[list[int], list[str | None]]:
    """The indices and values of a sparse row, ``{INDEX VALUE, INDEX VALUE}``."""
    content = line[1:-1].strip() + ","
    if line[-1] != "}" or not (content == "," or _SPARSE_ROW.fullmatch(content)):
        if _WEIGHT.fullmatch(line):
            raise lines.error("weights of samples are not supported. Remove {...} at the end of the row")
        raise lines.error("expected {INDEX VALUE, INDEX VALUE, ...}, with quotes around values with spaces")
    entries = _SPARSE_VALUE.findall(content)
    return [int(index) for index, _ in entries], [_parse_value(text) for _, text in entries]


def _parse_value(text: str) -> str | None:
    if text in ("?", ""):
        return None
    return unquote(text) if text[0] in "'\"" else text


def without_comment(line: str) -> str:
    """A line without the comment at its end."""
    match = _BEFORE_COMMENT.match(line)
    return match[0].strip() if match else ""


def unquote(text: str) -> str:
    """A name or value. Within quotes a backslash escapes the next character; outside it is one as any other."""
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "'\"":
        return text
    return _ESCAPE.sub(_unescape, text[1:-1]) if "\\" in text else text[1:-1]


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1 or code in "01234567":
        character = chr(int(code[1:], 16) if code[0] == "u" else int(code, 8))
        return code if "\ud800" <= character <= "\udfff" else character
    return _CONTROL_CHARACTERS.get(code, code)
