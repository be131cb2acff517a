"""Guessing which columns are labels."""

import pytest

from sdgs.datasets import DataFileError, LabelGuess, guess_labels, read_blocks


def test_guess_labels(write_file):
    rows = "".join(f"t{i},{i},{i % 2},{i % 3},{i % 2},yes,Song {i},a{';b' * (i % 2)}\n" for i in range(9))
    guess = guess_labels(write_file("id,x,w_1,w_2,is_b,is_[c],title,kinds\n" + rows))
    assert guess.columns == ("is_b", "is_[c]")  # w_1 never is 2, but belongs to w_2
    assert guess.patterns == ("is_*",)
    assert guess.lists == ("kinds",)
    assert guess_labels(write_file("x,a,is_b\n3,1,0\n")).patterns == ("a", "is_b")
    assert guess_labels(write_file("x,a,b\n3,1,0\n")).patterns == ("a", "b")
    kinds = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(9))
    assert guess_labels(write_file("x,kind\n" + kinds)).lists == ("kind",)
    assert guess_labels(write_file("1 1:2\n", "data.svm")) == LabelGuess()
    with pytest.raises(DataFileError, match="there is only one column, named 'x y'"):
        next(read_blocks(write_file("x y\n1 b\n"), features=["x", "y"]))


def test_numbers_dates_and_free_text_are_no_lists_of_labels(write_file):
    texts = ["The waiter was kind to us, but the food came much too late", "We liked all of it, and we will come again"]
    rows = "".join(
        f"{i};{texts[i % 2]};4{i % 3},{i % 2}3 €;{i % 4},5;1{i % 3}.03.2025;March {10 + i % 3}, 2025 18:30;"
        f"Berlin, {'ABCDE'[i % 5]};late{', cold food' * (i % 2)}\n"
        for i in range(30)
    )
    path = write_file("id;review;price;stars;visited;booked;city;labels\n" + rows)
    assert guess_labels(path).lists == ("labels", "city")  # with the fewest labels first
