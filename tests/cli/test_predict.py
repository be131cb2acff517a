"""`sdgs predict`: labels for files of any format and size; output files are complete or not written."""

import csv
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sdgs


@pytest.mark.parametrize("name", ["test.csv", "test.parquet", "test.arff"])
def test_predict_is_the_same_in_every_format(run, songs, expected, name):
    test, labels, P = expected
    result = run("predict", songs / "songs.sdgs", songs / name)
    assert result.exit_code == 0, result.output
    lines = list(csv.reader(result.stdout.splitlines()))
    assert lines[0] == ["sample", "labels"]
    names = np.array(test.label_names)
    assert lines[1:] == [[str(i + 1), ";".join(names[row == 1])] for i, row in enumerate(labels)]
    lines = list(csv.reader(run("predict", songs / "songs.sdgs", songs / name, "--scores").stdout.splitlines()))
    assert lines[0] == ["sample", *names]
    np.testing.assert_allclose(np.array(lines[1:], dtype=float)[:, 1:], P, rtol=1e-5)
    lines = [
        json.loads(line) for line in run("predict", songs / "songs.sdgs", songs / name, "--json").stdout.splitlines()
    ]
    assert lines == [{"sample": i + 1, "labels": list(names[row == 1])} for i, row in enumerate(labels)]


def test_predict_the_most_probable(run, songs, expected):
    _, _, P = expected
    model = sdgs.load(songs / "songs.sdgs")
    arguments = ("predict", songs / "songs.sdgs", songs / "test.arff", "--top", "2")
    first = json.loads(run(*arguments, "--json").stdout.splitlines()[0])
    best = np.argsort(-P[0])[:2]
    assert [entry["label"] for entry in first["top"]] == [model.label_names_[i] for i in best]
    np.testing.assert_allclose([entry["score"] for entry in first["top"]], P[0, best])
    line = run(*arguments, "--separator", " | ").stdout.splitlines()[1]
    assert line == "1,{} | {},{:.6g} | {:.6g}".format(*(model.label_names_[i] for i in best), *P[0, best])


@pytest.mark.parametrize("options", [[], ["--scores"], ["--top", "1"]])
def test_predict_keeps_columns(run, songs, options):
    arguments = ["predict", songs / "songs.sdgs", songs / "test.csv", *options]
    without, with_kept = (
        list(csv.reader(run(*arguments, *more).stdout.splitlines())) for more in ([], ["--keep", "id,title"])
    )
    assert with_kept[0][:3] == ["sample", "id", "title"]
    assert with_kept[3][:3] == ["3", "a2", "Song, 2"]
    assert [[row[0], *row[3:]] for row in with_kept] == without
    first = json.loads(run(*arguments, "--keep", "t*", "--json").stdout.splitlines()[0])
    assert first["kept"] == {"title": "Song, 0"}
    assert "no column is named 'nr', which should be a column to keep" in run(*arguments, "--keep", "nr").stderr


def test_predict_writes_a_complete_file_or_none(run, songs, tmp_path):
    result = run("predict", songs / "songs.sdgs", songs / "test.csv", "-o", "labels.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 51
    header, *rows = (songs / "test.csv").read_text().splitlines()
    rows = [row for row in rows for _ in range(300)]  # more than one block
    (tmp_path / "broken.csv").write_text("\n".join([header, *rows, rows[0] + ",1"]))
    result = run("predict", songs / "songs.sdgs", "broken.csv", "-o", "labels2.csv")
    assert result.exit_code == 1
    assert "broken.csv, line 15002: 12 cells, but the first line has 11 names" in result.stderr
    assert 10_000 < len(run("predict", songs / "songs.sdgs", "broken.csv").stdout.splitlines()) < 15_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.csv", "labels.csv"]


def test_predict_from_a_pipe(run, songs):
    content = (songs / "test.csv").read_bytes()
    piped = run("predict", songs / "songs.sdgs", "-", "--format", "csv", input=content)
    assert piped.stdout == run("predict", songs / "songs.sdgs", songs / "test.csv").stdout
    result = run("predict", songs / "songs.sdgs", "-", input=content)
    assert result.exit_code == 1
    assert "standard input: the format is not known from the name" in result.stderr


def test_predict_rejects_files_that_do_not_match_the_model(run, songs, tmp_path):
    text = (songs / "test.csv").read_text()
    (tmp_path / "other.csv").write_text(text.replace("f3", "F3", 1))
    result = run("predict", songs / "songs.sdgs", "other.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "1 of the 6 columns of the model is missing: 'f3'. Similar: 'F3'" in result.stderr
    result = run("predict", songs / "songs.sdgs", songs / "test.svm")
    assert "in svmlight files features have numbers, but those of the model have names" in result.stderr
    result = run("predict", songs / "test.csv", songs / "songs.sdgs")
    assert result.exit_code == 1
    assert "The model comes first, then the data." in result.stderr
    assert run("predict", songs / "songs.sdgs", "absent.csv").stderr.startswith("absent.csv: there is no such file")


def test_samples_that_are_too_large_for_the_model_give_one_error(run, songs, tmp_path):
    settings = (word for setting in ("scaling=None", "gamma=None", "n_components=2") for word in ("--set", setting))
    run("fit", songs / "train.csv", "-l", "is_*", "--drop", "id,title", *settings, "-o", "unscaled.sdgs")
    names, *rows = (songs / "test.csv").read_text().splitlines()
    place = names.split(",").index("f3")
    cells = rows[0].split(",")
    cells[place] = "1.7e308"
    (tmp_path / "large.csv").write_text("\n".join([names, ",".join(cells)]))
    for command in ("predict", "explain"):
        result = run(command, "unscaled.sdgs", "large.csv")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "overflow" in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("signal_number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_nothing_is_left(songs, tmp_path, signal_number, status):
    # A shell ignores Ctrl-C in background jobs, and the processes that they start would do the same.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from sdgs.cli import main; main()"
    command = [sys.executable, "-c", code, "predict", songs / "songs.sdgs", "-", "-f", "csv", "-o", "labels.csv"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            process.stdin.write((songs / "test.csv").read_bytes())
            process.stdin.flush()
            until = time.monotonic() + 300
            while not list(tmp_path.iterdir()) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            assert [path.name[:12] for path in tmp_path.iterdir()] == [".labels.csv-"]
            process.send_signal(signal_number)
            assert process.wait(timeout=300) == status
        finally:
            process.kill()  # or it would wait for the rest of its input
        output = process.stderr.read().decode()
    assert "Traceback" not in output
    if signal_number == signal.SIGINT:
        assert output.splitlines()[-1] == "Interrupted. No incomplete file was left."
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_output_that_is_closed_early(songs, tmp_path):
    rows = (songs / "test.csv").read_text().splitlines()
    (tmp_path / "many.csv").write_text("\n".join([rows[0], *(rows[1:] * 400)]))
    command = f"{sys.executable} -m sdgs predict {songs / 'songs.sdgs'} many.csv --scores | head -n 2"
    result = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert len(result.stdout.splitlines()) == 2
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr
