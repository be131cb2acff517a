"""Reading ARFF, as Mulan and MEKA write it. liac-arff parses; this guards it and gives columns a meaning."""

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arff
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack, issparse

from sdgs._utils._row_norms import narrow_indices
from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError

MAX_BYTES = 4 << 30  # of text after decompression: no multi-label file comes near, and a gzip bomb stops there
_MAX_LINE = 64 << 20
_MAX_CATEGORIES = 50  # a nominal attribute with more values is an id
TRUE, FALSE = {"1", "yes", "true", "y", "t", "+"}, {"0", "no", "false", "n", "f", "-"}

# liac-arff's own expression for {a,b,c} can take exponential time to reject a bad list. This one cannot: its parts are
# possessive, so it never tries twice.
_NOMINAL = re.compile(
    r"""\{\s*+(?:(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[^\s,'"{}]++)\s*+(?:,\s*+|(?=\})))*+\}\Z""", re.DOTALL
)
_ATTRIBUTE = re.compile(
    r"""@attribute\s++(?P<name>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[^\s{}%,]++)\s++(?P<type>.++)\Z""",
    re.IGNORECASE | re.DOTALL,
)


Kinds = tuple[str | tuple[str, ...], ...]  # "number", "text", or the values of a nominal attribute


@dataclass(frozen=True, eq=False)
class Table:
    """The content of an ARFF file as numbers, a column an attribute; nominal values by their place."""

    relation: str
    names: tuple[str, ...]
    values: Any  # ndarray (n, columns) or csr_array, float64; NaN where missing
    kinds: Kinds


def load_arff(path: str | Path, *, labels: Sequence[str], max_bytes: int | None = MAX_BYTES) -> Dataset:
    """Read an ARFF file, plain or gzipped, dense or sparse, whose labels are known by name.

    Parameters
    ----------
    path : str or Path
    labels : sequence of str
        Names of the attributes that are labels, in the order in which ``Y`` is to have them.
    max_bytes : int or None
        Most bytes of text to read after decompression; None for no limit.

    Returns
    -------
    Dataset
        Numeric attributes are features as they are. A nominal attribute with two values that mean yes and no is 0 or 1;
        another one gives a 0/1 feature ``name=value`` for each value. Text, and nominal attributes with more than
        50 values (ids), are dropped; ``dropped`` says so.
    """
    if not labels:
        raise DataFileError(f"{path}: there are no labels. Name at least one attribute in labels.")
    return dataset_from(read_table(Path(path), max_bytes), list(labels), Path(path))


def read_table(path: Path, max_bytes: int | None) -> Table:
    """Parse the file as UTF-8, or as Latin-1 where it is not UTF-8."""
    try:
        return _read_table(path, "utf-8-sig", max_bytes)
    except UnicodeDecodeError:
        return _read_table(path, "latin-1", max_bytes)


def _read_table(path: Path, encoding: str, max_bytes: int | None) -> Table:
    lines = _Lines(path, encoding, max_bytes)
    try:
        sparse = _Lines(path, encoding, max_bytes).are_sparse()
        content = arff.ArffDecoder().decode(iter(lines), return_type=arff.LOD_GEN if sparse else arff.DENSE_GEN)
        kinds = tuple(_kind(kind) for _, kind in content["attributes"])
        values = (_sparse_numbers if sparse else _dense_numbers)(content["data"], kinds)
    except (DataFileError, UnicodeDecodeError):
        raise
    except arff.ArffException as error:
        # Its own line number is wrong for data, and its message a format that the file's text can break.
        raise lines.error(re.sub(r",? ?at line %d", "", error.message or "bad data").strip(" .")) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataFileError(f"{path}: cannot be read ({error}).") from None
    except (ValueError, IndexError, TypeError, OverflowError, KeyError, csv.Error) as error:
        raise lines.error(f"not as ARFF should be ({error})") from None
    return Table(_plain(content["relation"]), tuple(lines.names), values, kinds)


class _Lines:
    """The lines of a file, counted, bounded, and checked before liac-arff sees them."""

    def __init__(self, path: Path, encoding: str, max_bytes: int | None) -> None:
        self.path, self.encoding, self.max_bytes = path, encoding, max_bytes
        self.number = 0
        self.names: dict[str, None] = {}  # of the attributes so far, in order

    def error(self, what: str) -> DataFileError:
        return DataFileError(f"{self.path}, line {self.number}: {what}.")

    def are_sparse(self) -> bool:
        """Whether the first row of data is sparse."""
        in_data = False
        for line in self:
            if in_data and line and line[0] != "%":
                return line[0] == "{"
            in_data = in_data or line[:5].lower() == "@data"
        return False

    def __iter__(self) -> Iterator[str]:
        with open(self.path, "rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        opened: Any = gzip.open if zipped else open
        size, in_data = 0, False
        with opened(self.path, "rt", encoding=self.encoding) as file:
            while line := file.readline(_MAX_LINE + 1):
                self.number += 1
                size += len(line)
                if len(line) > _MAX_LINE:
                    raise self.error(f"longer than {_MAX_LINE} characters")
                if self.max_bytes is not None and size > self.max_bytes:
                    raise self.error(f"the file has over {self.max_bytes} characters; pass max_bytes=None to read it")
                line = line.strip()
                if not in_data and line[:10].lower() == "@attribute":
                    line = self._attribute(line)
                in_data = in_data or line[:5].lower() == "@data"
                yield line

    def _attribute(self, line: str) -> str:
        match = _ATTRIBUTE.match(line)
        if match is None:
            raise self.error("not an attribute: expected @attribute NAME TYPE, the name quoted if it has spaces")
        kind = match["type"].strip()
        if kind.startswith("{"):
            if not _NOMINAL.match(kind):
                raise self.error("the values of a nominal attribute must be {a,b,c}, quoted if they have spaces")
        elif kind.split()[0].lower() not in ("numeric", "real", "integer", "string"):
            raise self.error(f"attributes of type {kind[:30]!r} are not supported")
        name = _plain(match["name"])
        if name in self.names:
            raise self.error(f"a second attribute named {name!r}")
        self.names[name] = None
        # liac-arff takes quotes off that belong to the name: it gets a plain name, and ours is kept here.
        return f"@attribute a{len(self.names)} {kind}"


def _plain(name: str) -> str:
    """A name without quotes and escapes."""
    if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1]
    return re.sub(r"\\(.)", r"\1", name)


def _kind(kind: Any) -> str | tuple[str, ...]:
    if isinstance(kind, list):
        return tuple("?" if value is None else str(value) for value in kind)
    return "text" if kind == "STRING" else "number"


def _dense_numbers(rows: Any, kinds: Kinds) -> NDArray[np.float64]:
    """All rows as float64: numbers as they are, nominal values by their place, missing values and text as NaN."""
    convert = [_converter(kind) for kind in kinds]
    blocks: list[NDArray[np.float64]] = []
    block: list[list[float]] = []
    for row in rows:
        block.append([np.nan if value is None else to(value) for value, to in zip(row, convert, strict=True)])
        if len(block) == 1024:  # a list of floats takes four times the room of an array
            blocks.append(np.asarray(block))
            block = []
    blocks.append(np.asarray(block, dtype=np.float64).reshape(len(block), len(kinds)))
    return np.concatenate(blocks)


def _sparse_numbers(rows: Any, kinds: Kinds) -> csr_array:
    """The same for rows that leave out zeros and the first value of nominal attributes, whose place is 0."""
    convert = [_converter(kind) for kind in kinds]
    data, indices, ends = [], [], [0]
    for row in rows:
        for column, value in sorted(row.items()):
            indices.append(column)
            data.append(np.nan if value is None else convert[column](value))
        ends.append(len(indices))
    shape = (len(ends) - 1, len(kinds))
    matrix = csr_array((np.asarray(data, dtype=np.float64), np.asarray(indices, dtype=np.int32), ends), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def _converter(kind: str | tuple[str, ...]) -> Callable[[Any], float]:
    if kind == "number":
        return float
    if kind == "text":
        return lambda _: np.nan
    place = {value: float(i) for i, value in enumerate(kind)}
    return lambda value: place[value]


def dataset_from(table: Table, labels: list[str], path: Path) -> Dataset:
    """Columns of a table as features and labels; without labels ``Y`` is None."""
    column_of = {name: i for i, name in enumerate(table.names)}
    unknown = [name for name in labels if name not in column_of]
    if unknown:
        raise DataFileError(
            f"{path}: no attribute is named {unknown[0]!r}, which should be a label. Check the labels' file."
        )
    if len(set(labels)) < len(labels):
        raise DataFileError(f"{path}: two labels have the same name.")
    of_labels = [column_of[name] for name in labels]
    columns = csc_array(table.values) if issparse(table.values) else table.values

    parts, names, dropped = [], [], []
    plain: list[int] = []  # runs of columns that are features as they stand are taken together

    def flush() -> None:
        if plain:
            parts.append(columns[:, plain])
            plain.clear()

    for i in sorted(set(range(len(table.names))) - set(of_labels)):
        name, kind = table.names[i], table.kinds[i]
        reason = _why_not_a_feature(kind)
        if reason:
            dropped.append((name, reason))
            continue
        meaning = None if isinstance(kind, str) else _meaning(kind)
        if isinstance(kind, str) or meaning == tuple(range(len(kind))):
            plain.append(i)
            names.append(name)
            continue
        flush()
        place = _column(columns, i)
        if meaning is not None:
            parts.append(_looked_up(place, meaning)[:, None])
            names.append(name)
        else:
            parts.append(np.where(np.isnan(place)[:, None], np.nan, place[:, None] == np.arange(len(kind))))
            names.extend(f"{name}={value}" for value in kind)
    flush()
    n = table.values.shape[0]
    if issparse(table.values):
        X = narrow_indices(hstack([csr_array(part) for part in parts], format="csr")) if parts else csr_array((n, 0))
    else:
        X = np.hstack(parts) if parts else np.zeros((n, 0))
    return Dataset(
        X=X,
        Y=_labels(table, columns, of_labels, labels, path),
        feature_names=tuple(names),
        label_names=tuple(labels),
        name=table.relation,
        dropped=tuple(dropped),
    )


def _labels(table: Table, columns: Any, of_labels: list[int], labels: list[str], path: Path) -> NDArray[Any] | None:
    Y = np.empty((table.values.shape[0], len(labels)))
    for j, (i, name) in enumerate(zip(of_labels, labels, strict=True)):
        kind, values = table.kinds[i], _column(columns, i)
        meaning = None if isinstance(kind, str) else _meaning(kind)
        Y[:, j] = values if meaning is None else _looked_up(values, meaning)
        readable = kind == "number" or meaning is not None
        if not readable or not np.isin(Y[~np.isnan(Y[:, j]), j], (0, 1)).all():
            raise DataFileError(f"{path}: label {name!r} must be 0 or 1 (or yes or no) everywhere.")
    missing = np.isnan(Y)
    if missing.all():
        return None
    return Y if missing.any() else Y.astype(np.int8)


def _column(columns: Any, i: int) -> NDArray[np.float64]:
    return np.asarray(columns[:, [i]].toarray() if issparse(columns) else columns[:, i]).reshape(-1)


def _looked_up(place: NDArray[np.float64], meaning: tuple[float, ...]) -> NDArray[np.float64]:
    known = ~np.isnan(place)
    result = np.full(place.shape, np.nan)
    result[known] = np.asarray(meaning, dtype=np.float64)[place[known].astype(np.intp)]
    return result


def _why_not_a_feature(kind: str | tuple[str, ...]) -> str:
    if kind == "text":
        return "text"
    if isinstance(kind, tuple) and len(kind) > _MAX_CATEGORIES:
        return f"nominal with {len(kind)} values, so an id"
    return ""


def _meaning(values: tuple[str, ...]) -> tuple[float, ...] | None:
    """What the values of a nominal attribute stand for, if they stand for numbers: {0,1}, {YES,NO} in either order."""
    lower = [value.lower() for value in values]
    if len(values) <= 2 and all(value in TRUE | FALSE for value in lower):
        return tuple(float(value in TRUE) for value in lower)
    return None
