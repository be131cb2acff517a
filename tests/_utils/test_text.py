"""Names are shown without characters that steer a terminal."""

import json
import unicodedata

import pytest

from sdgs._utils._text import one_line, printable, printable_json

HOSTILE = "\x1b]0;title\x07\n\r\t\x7f\x9b31m\u2028\u202eabc\u2066\ud800"


@pytest.mark.parametrize(
    "text",
    ["größe", "日本語\u3000名", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "👩\u200d🔬", "a\\n", "", "a b"],
)
def test_ordinary_names_are_unchanged(text):
    assert printable(text) == text


def test_characters_that_steer_are_shown_as_escapes():
    shown = printable(HOSTILE)
    assert shown == r"\x1b]0;title\x07\n\r\t\x7f\x9b31m\u2028\u202eabc\u2066\ud800"
    assert printable(shown) == shown
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"
    assert printable(3) == "3"
    everything = map(chr, range(0x110000))
    left = {c for c in everything if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and printable(c) == c}
    assert left == set()


def test_a_message_of_another_library_becomes_one_line():
    assert one_line(ValueError("Invalid data\n\tin \x1b[2J")) == r"Invalid data in \x1b[2J"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_keeps_the_names(indent):
    text = printable_json(json.dumps({HOSTILE: [HOSTILE]}, ensure_ascii=False, indent=indent))
    assert json.loads(text) == {HOSTILE: [HOSTILE]}
    assert printable(text, keep="\n") == text
