"""The support tickets that ship with the package."""

import csv

import numpy as np
import pandas as pd
import pytest

from sdgs.datasets import make_tickets, tickets_path
from sdgs.datasets._ticket_phrases import ABOUT, NOT_ABOUT
from sdgs.datasets._tickets import TAGS
from sdgs.datasets.readers._label_lists import find_separator, split_labels


@pytest.fixture(scope="module")
def tickets():
    return make_tickets()


def test_the_file_is_what_the_function_makes(tickets):
    assert tickets_path().read_bytes() == tickets.to_csv().encode("ascii")


def test_the_table_has_every_kind_of_column():
    frame = pd.read_csv(tickets_path(), parse_dates=["opened"])
    assert frame["ticket"].is_unique
    assert frame["opened"].is_monotonic_increasing
    assert frame["message"].notna().all()
    assert frame["message"].nunique() > 0.9 * len(frame)
    assert set(frame["plan"].dropna()) == {"free", "basic", "pro", "business"}
    assert set(frame["channel"].dropna()) == {"email", "chat", "phone", "web form"}
    assert (frame["amount"].dropna() > 0).all()
    missing = frame.isna().mean()
    assert (missing[["plan", "channel"]] > 0.01).all()
    assert 0.2 < missing["amount"] < 0.4
    labels = frame["tags"].str.get_dummies(";")
    assert sorted(labels.columns) == sorted(TAGS)
    assert (labels.sum() >= 40).all()
    assert set(labels.sum(axis=1)) == {0, 1, 2, 3}


def test_tags_are_read_by_the_reader_of_label_lists(tickets):
    cells = tickets.columns["tags"]
    separator = find_separator(cells)
    assert separator == ";"
    assert {tag for cell in cells for tag in split_labels(cell, separator)} == set(TAGS)


def test_three_percent_of_the_tags_are_wrong_and_known(tickets):
    assert len(tickets.wrong) == 12
    given, right = np.array(tickets.columns["tags"]), np.array(tickets.right_tags)
    assert np.flatnonzero(given != right).tolist() == tickets.wrong.tolist()
    assert set(";".join(given).split(";")) == {*TAGS, ""}


def test_a_message_has_a_sentence_about_each_of_its_tags_and_denies_only_others():
    tickets = make_tickets(2000, random_state=1)
    for message, tags in zip(tickets.columns["message"], tickets.right_tags, strict=True):
        denied = {tag for tag in TAGS if any(sentence in message for sentence in NOT_ABOUT[tag])}
        assert not denied & set(tags.split(";"))
        asserted = {tag for tag in TAGS if any(s in message for s in ABOUT[tag] if "{" not in s)}
        assert asserted <= set(tags.split(";"))


def test_cells_with_commas_and_quotes_are_read_back():
    tickets = make_tickets(50, random_state=2)
    names, *rows = csv.reader(tickets.to_csv().splitlines())
    assert dict(zip(names, map(tuple, zip(*rows, strict=True)), strict=True)) == tickets.columns
    assert any("," in message for message in tickets.columns["message"])


def test_tickets_depend_on_the_seed_alone():
    assert make_tickets(20, random_state=3) == make_tickets(20, random_state=3)
    assert make_tickets(20, random_state=3) != make_tickets(20, random_state=4)
    with pytest.raises(ValueError, match="n_samples must be an integer >= 1"):
        make_tickets(0)
