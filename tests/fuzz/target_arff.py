"""ARFF files with Mulan's XML files, MEKA's relations, or labels by name."""

import numpy as np

from fuzz import readers
from fuzz.data_files import DataFile, arff_file
from fuzz.draw import chance, distinct_names, name, number, pick

_CORPUS = [
    *readers.corpus_files(".arff", labels=["l*"]),
    *readers.corpus_files(".arff"),
]
_TYPES = (
    *("numeric", "real", "integer", "string", "date", 'date "yyyy-MM-dd"', "relational", "{0,1}", "{1,0}", "{no,yes}"),
    *(
        "{a,b,c}",
        "{'a b','c,d'}",
        "{?,a}",
        "{}",
        "{a}",
        "{a,a}",
        "{1,2,3}",
        "{0,1",
        "numeric % comment",
        "NUMERIC[0,1]",
    ),
)

_RELATIONS = ("r", "'r: -C 2'", "'r: -C -1'", "'r -C 99'", "'it\\'s'", "")


def loose_arff_file(rng):
    """Attributes of all types, also unsupported ones; rows that may not fit them."""
    names = distinct_names(rng, int(rng.integers(1, 7))) if chance(rng, 0.9) else [name(rng) for _ in range(3)]
    types = [pick(rng, _TYPES) for _ in names]
    quoted = [pick(rng, (name, f"'{name}'", f'"{name}"')) for name in names]
    lines = [f"@relation {pick(rng, _RELATIONS)}"]
    lines += [f"@attribute {quoted_name} {type_}" for quoted_name, type_ in zip(quoted, types, strict=True)]
    lines.append("@data")
    for _ in range(rng.integers(6)):
        cells = [_cell(type_, rng) for type_ in types]
        if chance(rng, 0.3):
            cells = [f"{i} {cell}" for i, cell in enumerate(cells) if chance(rng, 0.6)]
            lines.append("{" + ",".join(cells) + "}" + pick(rng, ("", "", ",{2}")))
        else:
            lines.append(",".join(cells) + pick(rng, ("", "", "", " % comment", ",{2}", "\t{1}")))
    return DataFile("\n".join(lines).encode(), ".arff", pick(rng, ({}, {"labels": names[-1:]}, {"labels": names[:2]})))


def _cell(type_, rng):
    if type_.startswith("{") and chance(rng, 0.9):
        values = type_.strip("{}").split(",")
        return pick(rng, values)
    return pick(rng, (repr(number(rng)), "?", "0", "1", "'a b'", '"x"', "a"))


def run_case(rng, folder):
    return readers.run_reader_case(rng, folder, (arff_file, arff_file, loose_arff_file), _CORPUS)


def check_content(content, folder):
    return readers.check_file(DataFile(content, ".arff", {}), np.random.default_rng(0), folder)
