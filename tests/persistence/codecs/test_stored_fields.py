"""Fields come back as they were; content that is not what a field declares is rejected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from model_file_helpers import assert_same
from scipy.sparse import csr_array

from sdgs import ModelFileError
from sdgs.persistence._container import CheckedArrays
from sdgs.persistence.codecs._stored_fields import (
    INTEGER,
    NUMBER,
    ArrayField,
    ChoiceField,
    ClassesField,
    EitherField,
    FlagField,
    ListField,
    NumberOrField,
    OptionalField,
    Output,
    RecordField,
    SamplesField,
    Source,
    ValueField,
)


def encode(field, value):
    output = Output({}, None)
    return field.encode(value, "x", output), output.arrays


def decode(field, content, arrays, **sizes):
    checked = CheckedArrays(arrays)
    value = field.decode(content, "x", Source(checked, None, dict(sizes)))
    checked.check_all_taken()
    return value


DTYPES = ["float64", "float32", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool"]


@given(st.data())
def test_arrays_of_any_dtype_and_shape_come_back(data):
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    shape = data.draw(arrays_of.array_shapes(min_dims=0, max_dims=3, max_side=4))
    finite = {"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else None
    array = data.draw(arrays_of.arrays(dtype, shape, elements=finite and arrays_of.from_dtype(dtype, **finite)))
    kind = {"f": "f", "b": "b"}.get(dtype.kind, "i")
    assert_same(decode(ArrayField(kind, shape), *encode(ArrayField(kind, shape), array)), array)


PAIR = RecordField(lambda **fields: fields, {"a": INTEGER, "b": OptionalField(ArrayField("f", (None,)))})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (ArrayField("f", ("n", "n")), np.asfortranarray(np.arange(9.0).reshape(3, 3))),
        (ArrayField("f", (None,), nan=True), np.array([np.nan, 1.0])),
        (EitherField((ArrayField("f", (None,)), ArrayField("f", ()))), np.array(0.5)),
        (NumberOrField(ArrayField("f", (None,))), np.float64(0.1)),
        (NumberOrField(ArrayField("f", (None,))), np.array([0.1])),
        (SamplesField(("n", "p")), np.ones((2, 3))),
        (SamplesField(("n", "p")), csr_array(np.eye(3))),
        (ListField(ArrayField("i", (None,)), "n"), [np.arange(2), np.arange(0)]),
        (ListField(INTEGER, type=tuple), (1, np.int32(2))),
        (ClassesField(), np.array(["a", "bc"])),
        (ClassesField(several=True), [np.array([0, 1]), np.array([2.5])]),
        (ValueField((dict,)), {"a": [np.float32(0.5), (1,)]}),
        (ChoiceField(("a", "b")), "b"),
        (FlagField(), True),
        (OptionalField(NUMBER), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_field_comes_back(field, value):
    assert_same(decode(field, *encode(field, value), p=3), value)


@pytest.mark.parametrize(
    ("field", "content", "arrays", "message"),
    [
        (ArrayField("f", ("p",)), "float64", {}, "x is missing"),
        (ArrayField("f", ("p",)), "float64", {"x": np.ones(2)}, r"x has shape \(2,\)"),
        (ArrayField("f", ("p", "p")), "float64", {"x": np.ones((3, 2))}, r"x has shape \(3, 2\)"),
        (ArrayField("f", (2, "p", None)), "float64", {"x": np.ones((5, 2))}, "x has shape"),
        (ArrayField("f", ("p",)), "int64", {"x": np.ones(3)}, "the dtype of x must be one of"),
        (ArrayField("f", ("p",)), "float64", {"x": np.arange(3)}, "x has dtype int64"),
        (ArrayField("f", ("p",)), "float32", {"x": np.full(3, 0.1)}, "entries that float32 does not hold"),
        (ArrayField("i", ("p",)), "int8", {"x": np.full(3, 300)}, "entries that int8 does not hold"),
        (ArrayField("b", ("p",)), "bool", {"x": np.full(3, 2, dtype=np.uint8)}, "out of range"),
        (ArrayField("f", ("p",), high=1), "float64", {"x": np.full(3, 2.0)}, "out of range"),
        (ArrayField("i", ("p",), below="p"), "int64", {"x": np.arange(1, 4)}, "out of range"),
        (ArrayField("i", ("p",), below="p"), "int64", {"x": np.arange(-1, 2)}, "out of range"),
        (ArrayField("i", ("p",), ascending=True), "int64", {"x": np.zeros(3, dtype=int)}, "ascending"),
        (ArrayField("f", ("p",), positive=True), "float64", {"x": np.zeros(3)}, "not positive"),
        (ArrayField("f", ("p",)), "float64", {"x": np.full(3, np.inf)}, "not finite"),
        (SamplesField(("n", "p")), {"dense": "float64"}, {"x": np.ones((2, 4))}, "x has shape"),
        (SamplesField(("n", "p")), {"sparse": "float64"}, {"x.data": np.ones(1)}, "x.indices is missing"),
        (SamplesField(("n", "p")), {"pickled": "float64"}, {}, "must have the fields sparse"),
        (INTEGER, -1, {}, "out of range"),
        (INTEGER, True, {}, "another type"),
        (INTEGER, "1", {}, "another type"),
        (NUMBER, {"numpy": "<f8", "value": "nan"}, {}, "not finite"),
        (FlagField(), 1, {}, "in place of true or false"),
        (ChoiceField(("a",)), "b", {}, "must be one of 'a'"),
        (ClassesField(), [], {}, "must be one array"),
        (ClassesField("p"), {"numpy": "<i8", "value": [0, 1]}, {}, r"x has shape \(2,\)"),
        (ListField(INTEGER, "p"), [1, 2], {}, r"x has shape \(2,\)"),
        (ListField(INTEGER), {"a": 1}, {}, "not a list"),
        (PAIR, {"a": 1}, {}, "must have the fields a, b"),
        (PAIR, {"a": 1, "b": "float64"}, {}, "x.b is missing"),
    ],
)
def test_other_content_is_rejected(field, content, arrays, message):
    with pytest.raises(ValueError, match=message):
        decode(field, content, arrays, p=3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (ArrayField("f", (None,)), np.ones((2, 2))),
        (ArrayField("f", (None,)), np.array(["a"])),
        (ArrayField("f", (None,)), np.ones(2, dtype=np.float16)),
        (INTEGER, object()),
        (ClassesField(), np.array([b"a"])),
    ],
)
def test_values_that_a_file_cannot_hold_are_refused(field, value):
    with pytest.raises(ModelFileError, match="x of the model"):
        encode(field, value)
