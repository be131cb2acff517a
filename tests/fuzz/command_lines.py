"""Random command lines on valid and damaged files, and what their output must satisfy."""

import csv
import io
import json
import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from fuzz import data_files, target_arff, target_tables
from fuzz.checks import CLEAN_ERROR, VALID
from fuzz.containers import mutate_container
from fuzz.draw import CONTROL_NAMES, ODD_NAMES, chance, distinct_names, pick
from fuzz.mutate import damage
from fuzz.small_models import FEATURES, LABELS, fitted_models, samples
from sdgs import SDGSClassifier

_OLD_CONTENT = b"what was there before"
_ODD_VALUES = ("", "-1", "0", "1", "2,1", "99999999999999999999", "nan", "a", "*", "[", "x=", "../x", "-", "8x8", "5x1")
_SETTINGS = (
    "n_components=1",
    "alpha=0.5",
    "alpha=-1",
    "huber=0.5",
    "gamma=1.0",
    "scaling=rows",
    "scaling=no",
    "x=1",
    "cv",
)
_SETTINGS += ("n_components=10**9", "readout=norm", "max_iter=0", "decision=thresholds", "n_landmarks=3", "tol=nan")


@dataclass
class Command:
    """Arguments, standard input, and the file that the command may write."""

    arguments: list[str]
    output: str | None = None
    stdin: bytes | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def writes_data(self):
        """Whether names appear in the output as they are: in JSON and CSV for programs."""
        return "--json" in self.arguments or self.arguments[0] == "predict"


@cache
def _models():
    """The content of model files: with names, with names that ``save`` got, with numbers, and without names."""
    X, Y = samples()
    by_number = SDGSClassifier(2, cv=2, random_state=0).fit(csr_array(X), csr_array(Y.astype(int)))
    numbers = {"feature_names": [str(j + 1) for j in range(X.shape[1])], "label_names": ["0", "1", "2"]}
    named = {"feature_names": FEATURES, "label_names": LABELS}
    pairs = (fitted_models()[2], {}), (fitted_models()[3], named), (fitted_models()[0], {}), (by_number, numbers)
    return {name: _saved(*pair) for name, pair in zip(("frame", "search", "classes", "numbers"), pairs, strict=True)}


def _saved(model, names):
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.sdgs", **names)
        return (Path(folder) / "model.sdgs").read_bytes()


def _table(features, labels):
    X, Y = samples()
    return {name: X[:, j] for j, name in enumerate(features)} | {name: Y[:, j] for j, name in enumerate(labels)}


def _csv_content(features, labels):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    table = _table(features, labels)
    writer.writerow(["id", *table])
    for i, row in enumerate(zip(*table.values(), strict=True)):
        writer.writerow([f"s{i}", *(str(float(value)) for value in row)])
    return text.getvalue().encode()


@cache
def _data():
    """The same samples in each format."""
    X, Y = samples()
    parquet, svmlight = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table(_table(FEATURES, LABELS)), parquet)
    dump_svmlight_file(X, Y.astype(int), svmlight, multilabel=True, zero_based=False)
    header = [f"@attribute {name} numeric" for name in FEATURES] + [f"@attribute {name} {{0,1}}" for name in LABELS]
    rows = [",".join([*map(repr, map(float, x)), *map(str, map(int, y))]) for x, y in zip(X, Y, strict=True)]
    arff = "\n".join(["@relation 'data: -C -3'", *header, "@data", *rows]) + "\n"
    return {
        ".csv": _csv_content(FEATURES, LABELS),
        ".parquet": parquet.getvalue(),
        ".svm": svmlight.getvalue(),
        ".arff": arff.encode(),
    }


def prepare():
    """Make the files."""
    _models(), _data()


def random_command(rng):
    """A command with its files."""
    kind = rng.random()
    if kind < 0.25:
        return _data_command(rng)
    suffix = pick(rng, tuple(_data()))
    data, model = (
        _data()[suffix],
        _models()["numbers" if suffix == ".svm" else pick(rng, ("frame", "search", "classes"))],
    )
    if chance(rng, 0.25):  # odd names in the model and in a table
        names = distinct_names(
            rng, 8, odd=0.6, pool=(*ODD_NAMES, *CONTROL_NAMES), allowed=lambda name: name.strip() == name
        )
        features, labels = names[:5], names[5:]
        model = _saved(fitted_models()[3], {"feature_names": features, "label_names": labels})
        suffix, data = ".csv", _csv_content(features, labels)
    damaged = rng.random()
    if damaged < 0.3:
        data = damage(data, rng)
    elif damaged < 0.5:
        model = mutate_container(model, rng)
    command = Command([], files={f"data{suffix}": data, "model.sdgs": model})
    _model_command(command, f"data{suffix}", suffix, rng)
    _add_odd_option(command, rng)
    return command


def _data_command(rng):
    """`sdgs info`, `sdgs fit` and `sdgs audit` on random data."""
    numbers = (data_files.csv_file, data_files.arff_file, data_files.svmlight_file, data_files.label_list_file)
    tables = (target_tables.csv_table, target_tables.json_table, target_tables.excel_table)
    make = pick(rng, (*numbers, *tables))
    file = target_arff.loose_arff_file(rng) if chance(rng, 0.1) else make(rng)
    content = damage(file.content, rng) if chance(rng, 0.5) else file.content
    name = f"data{file.suffix}"
    files = {name: content} | {f"data{suffix}": beside for suffix, beside in file.beside}
    kind = "fit" if chance(rng, 0.05) else "audit" if chance(rng, 0.05) else "info"
    command = Command([kind, name], files=files)
    if "labels" in file.arguments and chance(rng, 0.8):
        command.arguments.append(f"--labels={','.join(file.arguments['labels'])}")
    if "label_column" in file.arguments and chance(rng, 0.8):
        command.arguments.append(f"--label-column={file.arguments['label_column']}")
    if make in tables and chance(rng, 0.8):
        names = _column_names(content, file.suffix)
        if names:
            command.arguments.append(f"--label-column={pick(rng, names)}")
            if chance(rng, 0.3):
                kind = pick(rng, ("--text", "--category", "--number", "--date", "--drop"))
                command.arguments.append(f"{kind}={pick(rng, names)}")
    if command.arguments[0] == "fit":
        _complete_fit(command, rng)
    elif kind == "audit":
        _complete_audit(command, rng)
    if chance(rng, 0.3):
        command.arguments.append("--json")
    _add_odd_option(command, rng)
    return command


def _column_names(content, suffix):
    """Names of columns in the first line, roughly: what is not a name is an error, which is tested too."""
    if suffix == ".xlsx":
        return []
    first = content.split(b"\n")[0].decode("latin-1")
    return [part.strip("\"' {}") for part in re.split(r"[,;\t|:]", first) if part.strip("\"' {}")]


def _complete_fit(command, rng):
    command.arguments += ["--jobs", "1"]
    if chance(rng, 0.5):
        command.arguments += ["--set", pick(rng, _SETTINGS)]
    if chance(rng, 0.7):
        command.arguments.append("--force")
    _set_output(command, "new.sdgs", rng)


def _complete_audit(command, rng):
    command.arguments += ["--jobs", "1", "--max-distance", pick(rng, ("0", "0.1", "1"))]
    if chance(rng, 0.3):
        command.arguments += ["--set", pick(rng, _SETTINGS)]
    if chance(rng, 0.5):
        command.arguments += ["--pairs", str(rng.integers(100))]
    if chance(rng, 0.7):
        _set_output(command, pick(rng, ("out.csv", "page.html")), rng)


def _model_command(command, data, suffix, rng):
    """`sdgs predict`, `evaluate`, `explain`, `info` or `report` with a model; `fit` or `audit` without."""
    name = pick(rng, ("predict", "predict", "evaluate", "explain", "info"))
    if chance(rng, 0.1):  # these take longer
        name = pick(rng, ("report", "fit", "audit"))
    command.arguments[:] = [name, "model.sdgs", data]
    if name == "info":
        del command.arguments[2]
    elif name in ("fit", "audit"):
        command.arguments[:] = [name, data, *(["--labels", "x,y,z"] if suffix in (".csv", ".parquet") else [])]
        complete = _complete_fit if name == "fit" else _complete_audit
        complete(command, rng)
    else:
        command.arguments += ["--jobs", "1"]
    if name == "report":
        _set_output(command, "page.html", rng)
        command.arguments += ["--explained", str(rng.integers(3))]
    elif name == "predict":
        if chance(rng, 0.5):
            _set_output(command, "out.csv", rng)
        command.arguments += pick(rng, ([], ["--scores"], ["--top", "2"], ["--keep", "id"], ["--separator", "|"]))
        if chance(rng, 0.1) and suffix in (".csv", ".svm"):
            command.arguments[2] = "-"
            command.arguments += ["--format", "svmlight" if suffix == ".svm" else "csv"]
            command.stdin = command.files[data]
    elif name == "explain":
        command.arguments += ["--samples", pick(rng, ("1", "2,5", "24", "25", "1,1"))]
        command.arguments += pick(rng, ([], ["--label", "all"], ["--label", "x"]))
        if chance(rng, 0.2):
            command.arguments.append("--counterfactual")
        if chance(rng, 0.05):
            _set_output(command, "picture.png", rng)
            command.arguments += pick(rng, ([], ["--picture", "parts"], ["--picture", "reasons"]))
    if name not in ("report", "fit") and chance(rng, 0.3):
        command.arguments.append("--json")


def _set_output(command, name, rng):
    command.output = name
    command.arguments += ["-o", name]
    if chance(rng, 0.5):
        command.files[name] = _OLD_CONTENT


def _add_odd_option(command, rng):
    if chance(rng, 0.2):
        option = (
            "--labels",
            "--drop",
            "--format",
            "--samples",
            "--top",
            "--keep",
            "--shape",
            "--jobs",
            "--seed",
            "--set",
        )
        option += (
            "--label",
            "--label-column",
            "--labels-from",
            "--worst",
            "--names",
            "--title",
            "--separator",
            "--test",
            "--pairs",
            "--max-distance",
            "--unknown",
        )
        command.arguments += [pick(rng, option), pick(rng, (*_ODD_VALUES, *command.files))]


def check_outcome(command, status, stdout, stderr, folder):
    """Check the status, the printed text and the output file of a command."""
    assert status in (0, 1, 2), f"exit status {status}"
    assert "Traceback" not in stderr, f"a traceback: {stderr[-500:]}"
    assert "not enough memory" not in stderr, "needs too much memory"
    if not command.writes_data:
        check_printable(stdout)
    check_printable(stderr)
    if status != 0:
        assert stderr.strip(), "an error without a message"
        _check_output_is_old(command, folder)
        return CLEAN_ERROR
    if "--json" in command.arguments:
        for text in stdout.splitlines() if command.arguments[0] == "predict" else [stdout]:
            json.loads(text, parse_constant=_reject_constant)
    elif command.arguments[0] == "predict" and command.output is None and "--help" not in command.arguments:
        rows = list(csv.reader(io.StringIO(stdout, newline="")))
        assert len({len(row) for row in rows}) == 1, "rows of the prediction have different lengths"
    return VALID


def _check_output_is_old(command, folder):
    if command.output is not None:
        path = folder / command.output
        content = path.read_bytes() if path.exists() else None
        assert content == command.files.get(command.output), "an error, and yet the output file was changed"


def _reject_constant(constant):
    raise AssertionError(f"JSON has {constant}")


def check_printable(text):
    """Text for a terminal has no control characters but line ends."""
    control = {character for character in text if unicodedata.category(character) == "Cc"} - {"\n"}
    assert not control, f"control characters reach the terminal: {sorted(control)}"


def write_files(command, folder):
    """Write the files of a command."""
    for name, content in command.files.items():
        (folder / name).write_bytes(content)
    shown = " ".join(map(repr, command.arguments))
    (folder / "command.txt").write_text(shown + "\n", errors="backslashreplace")


def allowed_outputs(command, status):
    """The file that may be new or changed."""
    return [command.output] if status == 0 and command.output else []
