"""The encoders of one column, each against scikit-learn's or its definition."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, StandardScaler

from sdgs.preprocessing import TableEncoder
from sdgs.preprocessing._category_columns import CategoryColumn, ListColumn
from sdgs.preprocessing._column_kinds import choose_kind, is_number, text_analyzers
from sdgs.preprocessing._input_table import read_column
from sdgs.preprocessing._number_columns import DateColumn, NumberColumn
from sdgs.preprocessing._text_columns import TextColumn


@pytest.mark.parametrize("max_categories", [2, 40])
def test_categories_are_those_of_one_hot_encoder(max_categories):
    cells = [value for i, value in enumerate("abcdefgh") for _ in range(i + 1)]
    ours, block = CategoryColumn.fit(read_column("c", cells), 3, max_categories)
    theirs = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=3, max_categories=max_categories + 1
    ).fit(np.array(cells)[:, None])
    assert ours.has_rare
    assert_array_equal(block.toarray(), theirs.transform(np.array(cells)[:, None]).toarray())
    new = ["h", "a", "z"]
    assert_array_equal(
        ours.transform(read_column("c", new)).toarray(), theirs.transform(np.array(new)[:, None]).toarray()
    )
    assert ours.names[-2:] == ("c = h", "c: rare")


def test_missing_categories_have_a_column_if_there_were_any():
    ours, block = CategoryColumn.fit(read_column("c", ["a", "a", None, "b", "b", np.nan]), 2, 5)
    assert ours.names == ("c = a", "c = b", "c: missing")
    assert block.toarray()[:, 2].tolist() == [0, 0, 1, 0, 0, 1]
    ours, _ = CategoryColumn.fit(read_column("c", ["a", "a", "b", "b"]), 2, 5)
    assert not ours.transform(read_column("c", [None, "new"])).toarray().any()


@pytest.mark.parametrize("dtype", [bool, "boolean", int, float, object, str])
def test_true_and_false_in_other_forms(dtype):
    encoder, block = CategoryColumn.fit(read_column("flag", pd.Series([True, False, True, False])), 1, 40)
    again = encoder.transform(read_column("flag", pd.Series([True, False, True, False]).astype(dtype)))
    assert_array_equal(again.toarray(), block.toarray())
    with_missing = encoder.transform(read_column("flag", pd.Series([1.0, np.nan, 0.0])))
    assert with_missing.toarray().tolist() == [[0, 1], [0, 0], [1, 0]]
    assert not encoder.transform(read_column("flag", pd.Series([1.0, 2.0]))).nnz


def test_lists_are_those_of_multi_label_binarizer():
    cells = [["a", "b"], [], ["b"], {"a", "c"}, ("b", "b")]
    ours, block = ListColumn.fit(read_column("l", cells), 1, 10)
    assert_array_equal(block.toarray(), MultiLabelBinarizer().fit_transform(cells))
    assert ours.names == ("l: a", "l: b", "l: c")
    assert not ours.transform(read_column("l", [None, ["z"]])).toarray().any()


TEXTS = ["The parcel is late", "the PARCEL, the parcel", "", "Größe nicht gut", "größe? 配達が遅い", "配達が早い a"]


@pytest.mark.parametrize("min_count", [1, 2])
def test_words_and_characters_are_those_of_scikit_learn(min_count):
    ours, block = TextColumn.fit(read_column("t", TEXTS), ("word", "char_wb"), min_count, 1000)
    options = {"use_idf": False, "sublinear_tf": True, "min_df": min_count}
    theirs = [
        TfidfVectorizer(**options).fit(TEXTS),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), **options).fit(TEXTS),
    ]
    new = ["late late parcel Größe", "unheard", ""]
    for texts, ours_of_texts in ((TEXTS, block), (new, ours.transform(read_column("t", new)))):
        expected = hstack([vectorizer.transform(texts) for vectorizer in theirs]).toarray() / np.sqrt(2)
        assert_allclose(ours_of_texts.toarray(), expected, atol=1e-14)
    assert "t: parcel" in ours.names
    assert 't: "par"' in ours.names


def test_the_most_frequent_words_are_kept_and_single_ones_if_there_are_no_others():
    column = read_column("t", ["aa bb cc", "aa bb", "aa dd"])
    assert TextColumn.fit(column, ("word",), 1, 2)[0].names == ("t: aa", "t: bb")
    assert TextColumn.fit(read_column("t", ["aa bb", "cc dd"]), ("word",), 2, 9)[0].names[0] == "t: aa"
    assert TextColumn.fit(read_column("t", ["!", "? ?"]), ("word",), 2, 9) is None


def test_numbers_are_those_of_standard_scaler():
    x = np.random.default_rng(0).lognormal(3, 2, 50)
    x[::9] = np.nan
    _, block = NumberColumn.fit(read_column("x", x))
    assert_allclose(block, StandardScaler().fit_transform(x[:, None]), rtol=1e-12)
    ours, block = NumberColumn.fit(read_column("x", np.array([-1.7e308, 0, 1.7e308])))
    assert_allclose(block, [[-np.sqrt(1.5)], [0], [np.sqrt(1.5)]])
    assert np.isfinite(ours.transform(read_column("x", [1.7e308, 0.0]))).all()
    tiny, _ = NumberColumn.fit(read_column("x", [0.0, 5e-324]))
    assert np.isfinite(tiny.transform(read_column("x", [1e300]))).all()


def test_ordered_categories_are_numbers():
    levels = pd.Series(pd.Categorical(["low", "high", None, "low"], ["low", "middle", "high"], ordered=True))
    encoder = TableEncoder(sparse_output=False)
    Z = encoder.fit_transform(pd.DataFrame({"level": levels}))
    assert encoder.columns_[0].reason == "ordered categories"
    assert_allclose(Z[:, 0], [-np.sqrt(0.5), np.sqrt(2), np.nan, -np.sqrt(0.5)])
    assert_allclose(encoder.transform({"level": ["middle", "new"]})[:, 0], [np.sqrt(0.125), np.nan], atol=1e-15)


def test_parts_of_dates():
    moments = [datetime.datetime(2024, 2, 29, 23, 30), datetime.datetime(2025, 1, 1, 6), None]
    encoder, _ = DateColumn.fit(read_column("d", moments), None)
    assert encoder.names == ("d: days", "d: year", "d: month", "d: weekday", "d: hour")
    scaled = encoder.transform(read_column("d", moments))
    values = scaled * encoder.scaling.scale + encoder.scaling.mean
    assert_allclose(values[0], [0, 2024, 2, 4, 23], atol=1e-9)
    assert_allclose(values[1], [306 + 6.5 / 24, 2025, 1, 3, 6])
    assert np.isnan(values[2]).all()
    days, _ = DateColumn.fit(read_column("d", ["2025-01-06", "2025-01-13"]), "year-month-day")
    assert days.names == ("d: days",)
    assert days.filling_missing().names == ("d: days",)
    assert encoder.filling_missing().names[-1] == "d: hour missing"


@pytest.mark.parametrize("unit", ["s", "us"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_dates_far_from_today_keep_their_year(unit, zone):
    """Nanoseconds, which overflow silently, do not hold them."""
    texts = ["1500-06-01", "2020-01-01", "3000-12-31"]
    series = pd.Series(np.array(texts, dtype=f"datetime64[{unit}]")).dt.tz_localize(zone)
    assert_array_equal(read_column("day", series).values, np.array(texts, dtype="datetime64[us]"))


@pytest.mark.parametrize("type_", [pa.date32(), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC")])
def test_dates_of_arrow_in_pandas(type_):
    series = pd.Series(pd.to_datetime(["2020-02-29", None]))
    cells = series.dt.date if pa.types.is_date(type_) else series.dt.tz_localize(type_.tz)
    column = read_column("day", pd.Series(cells.to_list(), dtype=pd.ArrowDtype(type_)))
    assert_array_equal(column.values, np.array(["2020-02-29", "NaT"], dtype="datetime64[us]"))


def test_intervals_are_categories():
    series = pd.cut(pd.Series([1.0, 2.0, 3.0, np.nan]), [0, 1, 3])
    column = read_column("age", series)
    assert column.values.tolist() == ["(0, 1]", "(1, 3]", "(1, 3]", None]
    assert choose_kind(column, 40).reason == "ordered categories"


def test_time_zones_are_utc():
    aware = pd.Series(pd.to_datetime(["2025-01-01 00:00", "2025-01-02 12:00"])).dt.tz_localize("Etc/GMT-3")
    naive = np.array(["2024-12-31T21:00", "2025-01-02T09:00"], dtype="datetime64[us]")
    assert_array_equal(read_column("d", aware).values, naive)
    assert_array_equal(read_column("d", list(aware)).values, naive)


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        (["a", "b", "a", "b"], "category", "2 different values"),
        (["x", None, "x", None], "category", "one value, or missing"),
        (["x"] * 4, "drop", "constant"),
        ([3.0, 3.0], "drop", "constant"),
        ([None, None], "drop", "empty"),
        ([[], []], "drop", "all lists are empty"),
        (["u1", "u2", "u3"], "drop", "identifier"),
        (["a b", "c d", "e"], "text", "3 different texts"),
        (["配達が遅い", "配達が早い", "遅い"], "text", "3 different texts"),
        (["u1", "u2", "u3", "u3"], "text", "few of them repeated"),
        ([f"u{i % 50}" for i in range(100)], "category", "50 different values without spaces"),
        (["1", "2.5", "-3e2"], "number", "text that is numbers"),
        (["01", "02", "01", "02"], "category", "2 different values"),
        (["2025-01-01", "2025-02-01"], "date", "dates as year-month-day"),
        ([True, False], "boolean", "true or false"),
        ([True, None], "boolean", "true or false"),
        (pd.Series(["a", "b", "c"], dtype="category"), "category", "categorical"),
    ],
)
def test_kinds(cells, kind, reason):
    choice = choose_kind(read_column("c", cells), 40)
    assert choice.kind == kind
    assert reason in choice.reason


def test_numbers_as_text():
    assert all(map(is_number, ["0", "-1", "1.", ".5", "1e5", " 7 ", "0.10"]))
    assert not any(map(is_number, ["", ".", "e5", "007", "1_0", "nan", "inf", "1e999", "1,5", "٣", "0x1"]))


def test_characters_are_counted_where_words_are_not_separated():
    assert text_analyzers(["the parcel", "a refund", None]) == ("word",)
    assert text_analyzers(["libfoo-dev", "libbar", "the parcel"]) == ("word", "char_wb")
    assert text_analyzers(["配達が 遅い", "配達が早い"]) == ("word", "char_wb")


def test_rare_values_and_names_that_would_be_the_same():
    table = {"c": list("aaabbbxy"), "c = a": list(range(8)), "c: rare": [3.0, 1, 2, 5, 4, 6, 8, 7]}
    encoder = TableEncoder(sparse_output=False).fit(table)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["c = a", "c = b", "c: rare", "c = a (2)", "c: rare (2)"]
    assert encoder.columns_[0].note == "2 rare values together"
