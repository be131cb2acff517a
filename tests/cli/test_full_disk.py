"""On a full disk every command gives one error that names the file, and leaves the old file as it was."""

import os
import subprocess
import sys

import pytest

from full_disk import file_size_limit

COMMANDS = {
    "audit": lambda songs: ("audit", songs / "train.csv", "-l", "is_*", "--pairs", 100),
    "audit, page": lambda songs: ("audit", songs / "train.csv", "-l", "is_*"),
    "fit": lambda songs: ("fit", songs / "train.csv", "-l", "is_*", "--drop", "id,title", "--force"),
    "predict": lambda songs: ("predict", songs / "songs.sdgs", songs / "test.csv", "--scores"),
    "explain": lambda songs: ("explain", songs / "songs.sdgs", songs / "test.csv"),
    "report": lambda songs: ("report", songs / "songs.sdgs", songs / "test.csv"),
}
SUFFIXES = {
    "audit": ".csv",
    "audit, page": ".html",
    "fit": ".sdgs",
    "predict": ".csv",
    "explain": ".png",
    "report": ".html",
}


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_output_is_whole_or_as_before(run, songs, tmp_path, command, old):
    output = tmp_path / f"output{SUFFIXES[command]}"
    if old:
        output.write_bytes(old)
    with file_size_limit(500):
        result = run(*COMMANDS[command](songs), "-o", output)
    assert result.exit_code == 1
    error = " ".join(result.stderr.split())
    assert f"{output}: File too large. Free space there, or name another folder." in error
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == ([output] if old else [])
    assert not old or output.read_bytes() == old


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [("info", "train.csv"), ("predict", "songs.sdgs", "test.csv")], ids=" ".join)
def test_standard_output_that_is_full(songs, arguments):
    command = [sys.executable, "-m", "sdgs", *arguments]
    with open("/dev/full", "wb") as full:
        process = subprocess.run(command, cwd=songs, stdout=full, stderr=subprocess.PIPE, text=True)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1] == "The output cannot be written: No space left on device."
    assert "Traceback" not in process.stderr
