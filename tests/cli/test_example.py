"""`sdgs example`: files to try the commands with."""

from sdgs.datasets import tickets_path


def test_the_examples_are_listed(run):
    assert "tickets" in run("example").stdout


def test_an_example_is_written(run, tmp_path):
    content = tickets_path().read_bytes()
    assert run("example", "tickets").stdout_bytes == content
    assert run("example", "tickets", "-o", "t.csv").exit_code == 0
    assert (tmp_path / "t.csv").read_bytes() == content
    assert "t.csv exists" in run("example", "tickets", "-o", "t.csv").output
    assert run("example", "tickets", "-o", "t.csv", "--force").exit_code == 0
    result = run("example", "nothing")
    assert result.exit_code == 2
    assert "there is no example 'nothing'. There are tickets" in " ".join(result.output.replace("│", " ").split())
