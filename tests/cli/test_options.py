"""Mistakes in options give one error before anything is read or written."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--output", "picture.txt"], "must be a file that ends in .png, .pdf or .svg"),
        (["demo", "--output", "."], "must be a file that ends in .png, .pdf or .svg"),
        (["demo", "--seed", str(2**32 - 1)], "--seed"),
        (["demo", "--output", "nowhere/picture.png"], "the folder nowhere does not exist"),
        (["demo", "--seed", "-1"], "--seed"),
        (["dmeo"], "No such command 'dmeo'"),
        (["fit", "train.csv", "-o", "train.csv"], "must be a file that ends in .sdgs"),
        (["fit", "train.csv", "-o", "nowhere/m.sdgs"], "the folder nowhere does not exist"),
        (["fit", "train.csv", "--set", "alhpa=1"], "Similar: alpha"),
        (["fit", "train.csv", "--set", "alpha"], "is not NAME=VALUE"),
        (["fit", "train.csv", "--set", "alpha=-1"], "alpha must be a finite number >= 0, got -1"),
        (["fit", "train.csv", "--set", "metric=f2"], "metric must be one of"),
        (["fit", "train.csv", "--test", "absent.csv"], "absent.csv' does not exist"),
        (["fit", "train.csv", "-l", "a", "--labels-from", __file__], "give only one of --labels, --labels-from and"),
        (["fit", "train.csv", "-o", "/proc/m.sdgs"], "cannot write to the folder /proc"),
        (["predict", __file__, "test.csv", "-o", "/proc/x"], "cannot write to the folder /proc"),
        (["explain", __file__, "test.csv", "--names", "9" * 20], "Invalid value for '--names'"),
        (["report", __file__, "test.csv", "-o", "r.html", "--explained", "9" * 20], "Invalid value for '--explained'"),
        (["predict", __file__, "test.csv", "--jobs", "0"], "0 is not a number of threads"),
        (["fit", "train.csv", "-j", "99999999999999999999"], "is not a number of threads. Give one from 1"),
        (["predict", "absent.sdgs", "test.csv"], "absent.sdgs' does not exist"),
        (["evaluate", __file__, "test.csv", "--measures", "f1,auc"], "There is no metric 'auc'"),
        (["evaluate", __file__, "test.csv", "--measures", "f1", "--all-measures"], "or --all-measures, not both"),
        (["predict", __file__, "test.csv", "--scores", "--top", "3"], "give --scores or --top, not both"),
        (["predict", __file__, "test.csv", "-o", "nowhere/x"], "the folder nowhere does not exist"),
        (["predict", __file__, "test.csv", "-o", __file__], "is a folder or one of the input files"),
        (["explain", __file__, "test.csv", "-n", "0"], "must be numbers from 1"),
        (["explain", __file__, "test.csv", "--shape", "8"], "must be HEIGHTxWIDTH"),
        (["explain", __file__, "test.csv", "-o", "x.txt"], "must be a file that ends in .png"),
        (["data", "get", "emotions"], "name a server, because"),
        (["data", "check", "nothing"], "there is no data set 'nothing'"),
    ],
)
def test_mistakes_get_one_error(run, tmp_path, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())
