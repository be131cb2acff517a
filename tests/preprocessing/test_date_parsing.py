from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgs.preprocessing._date_parsing import DATE_FORMATS, find_date_format, parse_date, parse_dates

MOMENT = datetime(2025, 3, 14, 15, 9, 26, 535897)


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("2025-03-14", "year-month-day", "2025-03-14"),
        ("2025/3/4", "year-month-day", "2025-03-04"),
        ("2025-03-14T15:09", "year-month-day", "2025-03-14T15:09"),
        (" 2025-03-14 15:09:26.5358979 ", "year-month-day", MOMENT),
        ("2025-03-14T15:09:26,535897Z", "year-month-day", MOMENT),
        ("2025-03-14T15:09:26+02:00", "year-month-day", "2025-03-14T13:09:26"),
        ("2025-03-14 00:30 -0130", "year-month-day", "2025-03-14T02:00"),
        ("14.3.2025", "day.month.year", "2025-03-14"),
        ("14/03/2025 3:09 PM", "day/month/year", "2025-03-14T15:09"),
        ("03-14-2025 12:00 am", "month/day/year", "2025-03-14"),
        ("14 March 2025", "day name year", "2025-03-14"),
        ("14-MAR-2025", "day name year", "2025-03-14"),
        ("4 Sept 2025", "day name year", "2025-09-04"),
        ("Mar 14, 2025", "name day, year", "2025-03-14"),
        ("May 4 2025, 10:00", "name day, year", "2025-05-04T10:00"),
    ],
)
def test_forms(text, form, expected):
    assert find_date_format([text]) == form
    assert parse_date(text, form) == np.datetime64(expected, "us")


@pytest.mark.parametrize(
    "text",
    [
        *("2025", "2025-13-01", "2025-02-29", "2025-01-01 25:00", "2025-01-01 13:00 pm", "20250101", "1.2", ""),
        *("01/02/2025", "Foo 14, 2025", "2025-01-01+99:99", "2025-01-01T", "0001-01-01 00:00+01:00", "today"),
        "\u0662\u0660\u0662\u0665-01-01",
    ],
)
def test_what_is_no_date_or_may_be_two(text):
    assert find_date_format([text]) is None


def test_one_date_of_a_column_may_settle_the_order_of_day_and_month():
    assert find_date_format(["01/02/2025", "13/02/2025"]) == "day/month/year"
    assert find_date_format(["01/02/2025", "02/13/2025"]) == "month/day/year"
    assert find_date_format(["13/02/2025", "02/13/2025"]) is None
    assert find_date_format(["2025-01-01", "01.02.2025"]) is None


def test_what_is_no_date_of_the_form_is_missing():
    dates = parse_dates(["2025-01-02", None, "never", "02.01.2025"], "year-month-day")
    assert dates[0] == np.datetime64("2025-01-02")
    assert np.isnat(dates[1:]).all()


@given(st.datetimes())
def test_iso_dates_come_back(moment):
    (date,) = parse_dates([moment.isoformat()], "year-month-day")
    assert date == np.datetime64(moment, "us")


DATES = st.sampled_from(
    ["01/02/2025", "13/02/2025", "1 May 2025", "2025-01-02T03:04", "31.02.2025", "02.01.2025 24:00"]
)


@given(st.one_of(DATES, st.text(max_size=30)))
def test_the_form_of_a_text_is_the_only_one_in_which_it_is_a_date(text):
    forms = [form for form in DATE_FORMATS if not np.isnat(parse_dates([text], form)).any()]
    assert find_date_format([text]) == (forms[0] if len(forms) == 1 else None)
