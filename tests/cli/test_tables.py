"""Commands on tables with text, categories, dates and amounts."""

import csv
import io
import json

import numpy as np
import openpyxl
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

import sdgs
from sdgs.cli._models import stack_rows
from sdgs.datasets import make_tickets, read_table, tickets_path
from sdgs.model_selection import MultilabelStratifiedShuffleSplit
from sdgs.preprocessing import TableEncoder

KINDS = {"ticket": "drop", "message": "text", "plan": "category", "channel": "category"}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with tickets and a model that was fitted to them by the command."""
    from typer.testing import CliRunner

    from sdgs.cli import app

    folder = tmp_path_factory.mktemp("tickets")
    (folder / "tickets.csv").write_bytes(tickets_path().read_bytes())
    (folder / "new.csv").write_text(make_tickets(150, random_state=5).to_csv())
    arguments = ["fit", str(folder / "tickets.csv"), "--label-column", "tags", "-o", str(folder / "tickets.sdgs")]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


def test_info_proposes_how_columns_are_used(run, fitted):
    folder, _ = fitted
    result = run("info", folder / "tickets.csv", "--label-column", "tags")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "400 samples, 6 columns, 7 labels" in text
    assert "opened date dates as year-month-day" in text
    assert "--text, --category, --number or --date COLUMN" in text
    assert text.count("an identifier") == 1
    assert "To use a column of kind drop: --category ticket, or --text." in text
    assert "ticket" not in result.stderr.replace("tickets", "")
    content = json.loads(run("info", folder / "tickets.csv", "--json").stdout)
    assert {name: content["columns"][name]["kind"] for name in KINDS} == KINDS
    assert content["may_be_labels"]["lists"] == ["tags"]


def test_the_model_is_that_of_the_table_in_python(run, fitted):
    folder, content = fitted
    table = read_table(folder / "tickets.csv", label_column="tags")
    model = sdgs.SDGSClassifier(random_state=0).fit(table.to_pandas(), table.Y)
    loaded = sdgs.load(folder / "tickets.sdgs")
    new = read_table(folder / "new.csv", label_column="tags").to_pandas()
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert content["columns"]["message"]["kind"] == "text"
    assert content["features"] == len(model.encoder_.get_feature_names_out())
    assert set(loaded.column_formats_) == set(table.names) - {"ticket"}
    result = run("predict", folder / "tickets.sdgs", folder / "new.csv", "--keep", "ticket", "--scores")
    assert result.exit_code == 0, result.output
    assert "'ticket'" not in result.stderr  # known, and left out
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0] == ["sample", "ticket", *table.label_names]
    np.testing.assert_allclose([list(map(float, row[2:])) for row in rows[1:]], model.predict_proba(new), atol=1e-5)


def test_all_commands_take_the_table(run, fitted, tmp_path):
    folder, _ = fitted
    model, new = folder / "tickets.sdgs", folder / "new.csv"
    content = json.loads(run("evaluate", model, new, "--label-column", "tags", "--json").stdout)
    assert content["measures"]["f1"] > 0.9
    result = run("explain", model, new, "-n", "1,2")
    assert result.exit_code == 0, result.output
    assert "message: " in result.stdout
    result = run("report", model, new, "--label-column", "tags", "--keep", "message", "-o", "t.html")
    assert result.exit_code == 0, result.output
    message = read_table(new).columns["message"][0]
    assert f'"1 \N{MIDDLE DOT} {message}' in (tmp_path / "t.html").read_text()
    result = run("audit", folder / "tickets.csv", "--label-column", "tags", "-o", "labels.csv")
    assert result.exit_code == 0, result.output
    suspicious = {int(line.split(",")[0]) - 1 for line in (tmp_path / "labels.csv").read_text().splitlines()[1:]}
    assert len(suspicious & set(make_tickets().wrong.tolist())) >= 6
    assert "TableEncoder" not in run("info", model).stdout
    assert run("info", model, "--json").exit_code == 0


def test_an_audit_shows_the_cells(run, fitted, tmp_path):
    folder, _ = fitted
    tickets = list(csv.DictReader((folder / "tickets.csv").read_text().splitlines()))
    arguments = ("audit", folder / "tickets.csv", "--label-column", "tags", "--jobs", 1)
    result = run(*arguments, "-o", "all.csv")
    assert result.exit_code == 0, result.output
    assert "message: " in result.stdout
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert list(rows[0])[7:] == ["message", "ticket", "plan", "channel", "opened", "amount"]
    assert rows
    for row in rows:
        assert {name: row[name] for name in list(row)[7:]}.items() <= tickets[int(row["sample"]) - 1].items()
    result = run(*arguments, "--keep", "ticket,am*", "-o", "kept.html")
    assert "ticket: " in result.stdout
    assert "message: " not in result.stdout
    page = (tmp_path / "kept.html").read_text()
    assert "Its cells" in page
    assert f"<b>ticket</b> {rows[0]['ticket']}, <b>amount</b> {rows[0]['amount']}" in page
    assert (
        "no column is named 'nothing', which should be a column to keep" in run(*arguments, "--keep", "nothing").stderr
    )
    content = json.loads(run(*arguments, "--keep", "ticket", "--json").stdout)
    assert content["suspicious"][0]["cells"] == {"ticket": rows[0]["ticket"]}


def test_holdout(run, fitted, tmp_path):
    folder, _ = fitted
    arguments = ("fit", folder / "tickets.csv", "--label-column", "tags", "--holdout", "0.25")
    content = json.loads(run(*arguments, "-o", "h.sdgs", "--json").stdout)
    assert (content["samples"], content["test"]["samples"]) == (300, 100)
    table = read_table(folder / "tickets.csv", label_column="tags")
    splitter = MultilabelStratifiedShuffleSplit(1, test_size=100, random_state=0)
    kept, held_out = (np.sort(rows) for rows in next(splitter.split(table.Y, table.Y)))
    assert np.abs(table.Y[held_out].mean(axis=0) - table.Y[kept].mean(axis=0)).max() < 0.02
    predicted = sdgs.load(tmp_path / "h.sdgs").predict(table.to_pandas().iloc[held_out]).toarray()
    f1 = f1_score(table.Y[held_out], predicted, average="samples", zero_division=1)
    assert content["test"]["measures"]["f1"] == pytest.approx(f1)
    assert f1 > 0.9
    result = run(*arguments, "-o", "g.sdgs", "--holdout-file", "held-out.csv")
    assert result.exit_code == 0, result.output
    assert "The model is fitted to 300 samples; 100 are held out, and are written to held-out.csv." in result.stdout
    lines = (folder / "tickets.csv").read_text().splitlines()
    assert (tmp_path / "held-out.csv").read_text().splitlines() == [lines[0], *(lines[i + 1] for i in held_out)]
    again = json.loads(run("evaluate", "g.sdgs", "held-out.csv", "--label-column", "tags", "--json").stdout)
    assert again["measures"] == content["test"]["measures"]
    assert "must be a share between 0 and 1" in run(*arguments[:-1], "1.5", "-o", "i.sdgs").output
    assert "For 20 % give 0.2." in run(*arguments[:-1], "20", "-o", "i.sdgs").output
    both = run(*arguments, "-o", "i.sdgs", "--test", folder / "new.csv")
    assert "give --test or --holdout, not both" in both.output
    assert "needs --holdout" in run(*arguments[:-2], "-o", "i.sdgs", "--holdout-file", "a.csv").output
    assert "leaves none" in run(*arguments[:-1], "0.0001", "-o", "i.sdgs").stderr


def test_kinds_can_be_chosen(run, fitted, tmp_path):
    folder, _ = fitted
    arguments = ("fit", folder / "tickets.csv", "--label-column", "tags", "-o", "k.sdgs", "--json")
    chosen = ("--category", "opened", "--text", "ch*", "--drop", "ticket")
    content = json.loads(run(*arguments, *chosen).stdout)
    kinds = {name: column["kind"] for name, column in content["columns"].items()}
    assert kinds == {"message": "text", "plan": "category", "channel": "text", "opened": "category", "amount": "number"}
    assert content["dropped"] == {"ticket": "dropped, as requested"}
    assert run("evaluate", "k.sdgs", folder / "new.csv", "--label-column", "tags").exit_code == 0
    assert "cannot also be of kind text" in " ".join(
        run(*arguments, "--force", "--text", "plan", "--category", "plan").output.split()
    )
    assert "no column is named 'plann'" in run(*arguments, "--force", "--date", "plann").stderr
    (tmp_path / "x.svm").write_text("0 1:1\n")
    assert "needs a table" in run("fit", "x.svm", "--text", "1").output


def test_numbers_as_people_write_them(run, tmp_path):
    rng = np.random.default_rng(0)
    amounts, y = np.round(rng.lognormal(7, 1, size=(80, 2)), 2), rng.integers(2, size=80)
    amounts[:, 0] += 4000 * y
    texts = [[f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) for value in row] for row in amounts]
    lines = [f"{a};{b};{label}" for (a, b), label in zip(texts, y, strict=True)]
    (tmp_path / "euro.csv").write_text("\n".join(["Betrag;Rest;ja", *lines]), encoding="windows-1252")
    result = run("fit", "euro.csv", "-l", "ja")
    assert result.exit_code == 0, result.output
    assert "Column 'Betrag': numbers are read without the sign €" in result.stderr
    assert "separated by semicolons; the encoding is Windows-1252" in result.stderr
    model = sdgs.SDGSClassifier(random_state=0).fit(amounts, csr_array(y[:, None].astype(np.int8)))
    probabilities = model.predict_proba(amounts)
    lines = list(csv.DictReader(io.StringIO(run("predict", "euro.sdgs", "euro.csv", "--scores").stdout)))
    np.testing.assert_allclose([float(line["ja"]) for line in lines], probabilities[:, 0], atol=1e-5)
    (tmp_path / "point.csv").write_text("Betrag;Rest\n12.50;3,5\n")
    result = run("predict", "euro.sdgs", "point.csv")
    assert result.exit_code == 1
    assert "line 2, column 'Betrag': '12.50' is not a number with a decimal comma" in result.stderr


def test_excel_and_json_lines(run, tmp_path):
    tickets = make_tickets(120, random_state=1).columns
    rows = list(zip(*tickets.values(), strict=True))
    book = openpyxl.Workbook()
    book.active.append(list(tickets))
    for row in rows:
        book.active.append(list(row))
    book.save(tmp_path / "t.xlsx")
    lines = [json.dumps({**dict(zip(tickets, row, strict=True)), "tags": row[-1].split(";")}) for row in rows]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    for name in ("t.xlsx", "t.jsonl"):
        result = run("fit", name, "--label-column", "tags", "-o", "t.sdgs", "--force")
        assert result.exit_code == 0, result.output
        content = json.loads(run("evaluate", "t.sdgs", name, "--label-column", "tags", "--json").stdout)
        assert content["measures"]["f1"] > 0.8


def test_text_alone_and_nothing_to_use(run, tmp_path):
    tickets = make_tickets(150, random_state=1).columns
    with open(tmp_path / "text.csv", "w", newline="") as file:
        csv.writer(file).writerows([("message", "tags"), *zip(tickets["message"], tickets["tags"], strict=True)])
    assert run("fit", "text.csv", "--label-column", "tags").exit_code == 0
    (tmp_path / "ids.csv").write_text("id,tags\n" + "".join(f"a{i},{'xy'[i % 2]}\n" for i in range(50)))
    for command in ("fit", "info", "audit"):
        result = run(command, "ids.csv", "--label-column", "tags")
        assert result.exit_code == 1, result.output
        assert "an identifier" in result.stderr


def test_numbers_only_on_request(run, fitted):
    folder, _ = fitted
    arguments = ("fit", folder / "tickets.csv", "--label-column", "tags", "--set", "encode=None", "-o", "n.sdgs")
    content = json.loads(run(*arguments, "--json").stdout)
    assert content["features"] == 1
    assert content["dropped"]["message"].endswith("is not a number")


def test_an_encoder_of_python_reads_files_too(run, fitted, tmp_path):
    folder, _ = fitted
    frame = read_table(folder / "tickets.csv", label_column="tags")
    model = sdgs.SDGSClassifier(random_state=0, encode=TableEncoder()).fit(frame.to_pandas(), frame.Y)
    model.save(tmp_path / "python.sdgs", label_names=frame.label_names)
    result = run("evaluate", "python.sdgs", folder / "new.csv", "--label-column", "tags", "--json")
    assert json.loads(result.stdout)["measures"]["f1"] > 0.9


def test_a_column_that_lists_no_labels_is_named(run, tmp_path):
    lines = [f"{i % 7};{10 + i};{'ab'[i % 2]}" for i in range(120)]
    (tmp_path / "d.csv").write_text("\n".join(["x;price;kind", *lines]))
    result = run("info", "d.csv", "--label-column", "price")
    message = "of the 120 labels in the column 'price' 120 occur fewer than 3 times, such as '10', '100', '101'."
    assert message in result.stderr
    assert "some folds" not in result.stderr
    assert "fewer than 3" not in run("info", "d.csv", "--label-column", "kind").stderr


def test_a_model_of_excel_reads_the_same_data_as_text(run, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    prices = np.round(20 + 30 * rng.random(80) + 40 * y, 2).tolist()
    book = openpyxl.Workbook()
    for row in [("price", "kind"), *zip(prices, ["ab"[i] for i in y], strict=True)]:
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    lines = [f"{price:.2f} €;{'ab'[i]}".replace(".", ",") for price, i in zip(prices, y, strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["price;kind", *lines]))
    assert run("fit", "d.xlsx", "--label-column", "kind").exit_code == 0
    result = run("predict", "d.sdgs", "d.csv", "--scores")
    assert result.exit_code == 0, result.output
    assert result.stdout == run("predict", "d.sdgs", "d.xlsx", "--scores").stdout
    (tmp_path / "d.csv").write_text("\n".join(["price;kind", *lines, "on request;a"]))
    result = run("evaluate", "d.sdgs", "d.csv", "--label-column", "kind")
    assert "line 82, column 'price': 'on request' is not a number." in result.stderr
    assert "--invalid missing" in result.stderr
    for command in (("evaluate", "--label-column", "kind"), ("predict",), ("explain", "-n", "81")):
        result = run(command[0], "d.sdgs", "d.csv", *command[1:], "--invalid", "missing")
        assert result.exit_code == 0, result.output
    assert run("report", "d.sdgs", "d.csv", "--label-column", "kind", "--invalid", "missing").exit_code == 0


def test_a_table_of_numbers_is_encoded_once(run, tmp_path):
    """It has as many features as columns, so that their number does not tell both apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(50, 10, (60, 2)).round(1)
    lines = [f"{a},{b},{int(a > 50)},{int(b > 50)}" for a, b in X.tolist()]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,high_a,high_b", *lines]))
    model, labels = tmp_path / "model.sdgs", ["--labels", "high_*"]
    result = run("fit", tmp_path / "data.csv", *labels, "--number", "a", "-o", model, "--set", "gamma=None")
    assert result.exit_code == 0, result.output
    result = run("predict", model, tmp_path / "data.csv", "--scores")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    scores = [[float(row[name]) for name in ("high_a", "high_b")] for row in rows]
    table = read_table(tmp_path / "data.csv", labels=["high_*"]).to_pandas()
    loaded = sdgs.load(model)
    np.testing.assert_allclose(scores, loaded.predict_proba(table), rtol=1e-4)
    encoded = loaded.encoder_.transform(table)
    np.testing.assert_array_equal(
        loaded.predict_proba(stack_rows([encoded[:20], encoded[20:]])), loaded.predict_proba(table)
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sdgs", "logistic", "trees"])
def test_compare_uses_text_and_saves_the_best(method, run, fitted, tmp_path):
    folder, _ = fitted
    arguments = ("compare", folder / "tickets.csv", "--label-column", "tags", "--folds", 2, "--jobs", 1)
    options = ("--methods", method, "--category", "plan", "--drop", "opened", "--fit-best", "best.sdgs")
    result = run(*arguments, *options, "--json")
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)["files"]["tickets.csv"]
    assert values["columns"]["message"]["kind"] == "text"
    assert values["columns"]["plan"]["reason"] == "chosen by the user"
    assert "opened" not in values["columns"]
    assert values["methods"][0]["measures"]["f1"] > 0.7  # 0.4 without the message

    loaded = sdgs.load(tmp_path / "best.sdgs")
    assert set(loaded.column_formats_) == {"message", "plan", "channel", "amount"}
    table = read_table(folder / "new.csv", label_column="tags")
    evaluated = run("evaluate", "best.sdgs", folder / "new.csv", "--label-column", "tags", "--json", "--jobs", 1)
    predicted = loaded.predict(table.to_pandas())
    f1 = f1_score(table.Y, predicted, average="samples", zero_division=1)
    assert json.loads(evaluated.stdout)["measures"]["f1"] == pytest.approx(f1)
    if method == "sdgs":
        explained = run("explain", "best.sdgs", folder / "new.csv", "--samples", 2)
        assert explained.exit_code == 0, explained.output
        assert "message: " in explained.stdout


def test_compare_says_how_columns_are_used(run, fitted, tmp_path):
    folder, _ = fitted
    rows = csv.reader(io.StringIO((folder / "tickets.csv").read_text()))
    text = "\n".join(f"{row[1]},{row[-1]}" for row in rows if "," not in row[1])
    (tmp_path / "text.csv").write_text(text)
    result = run("compare", "text.csv", "--label-column", "tags", "--folds", 2, "--jobs", 1, "--methods", "mlknn")
    assert result.exit_code == 0, result.output
    assert "message text" in " ".join(result.stdout.split())
    assert run("compare", "text.csv", "--label-column", "tags", "--number", "nothing").exit_code != 0


def test_dates_written_in_another_form_than_in_training_are_noted(run, tmp_path):
    days = [f"2025-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)]
    lines = [f"{i % 7},{day},{'ab'[i % 2]}" for i, day in enumerate(days)]
    (tmp_path / "d.csv").write_text("\n".join(["x,day,kind", *lines]))
    assert run("fit", "d.csv", "--label-column", "kind").exit_code == 0
    result = run("predict", "d.sdgs", "d.csv")
    assert "could not be read as a date" not in result.stderr
    lines[3:5] = ["1,14.3.2025,a", "2,soon,b"]
    (tmp_path / "later.csv").write_text("\n".join(["x,day,kind", *lines]))
    result = run("predict", "d.sdgs", "later.csv")
    assert result.exit_code == 0
    assert (
        "2 cells of the column 'day' could not be read as a date, for example '14.3.2025', and became missing values. "
        "In training dates were written as year-month-day." in result.stderr
    )
