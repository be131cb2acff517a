"""Reading by blocks: columns are matched by name, and files may be larger than memory."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack
from sklearn.datasets import dump_svmlight_file

from sdgs.datasets import DataFileError, read, read_blocks

NAN = np.nan
ARFF = """@relation {}
@attribute x numeric
@attribute c {{red,green,blue}}
@attribute l {{0,1}}
@data
1,red,1
2,blue,0
"""


def test_lists_are_split_into_the_labels_of_the_model(write_file):
    """A comma in the name of a label is not a separator; unknown labels are ignored with a warning."""
    path = write_file('x,kinds\n1,"a, b;c"\n2,"a, b"\n3,d;c\n')
    assert read(path, label_column="kinds").label_names == ("a, b", "c", "d")
    with pytest.warns(UserWarning, match="labels that the model does not know are ignored: 'd'"):
        (block,) = read_blocks(path, features=["x"], labels=["a, b", "c"], with_labels=True, label_column="kinds")
    np.testing.assert_array_equal(block.Y, [[1, 1], [1, 0], [0, 1]])


def test_blocks_match_columns_by_name_in_any_order(write_file):
    path = write_file("note,b,l2,a,l1\nx,1,0,2,1\ny,,1,4,1\n")
    with pytest.warns(UserWarning, match="columns that the model does not know are ignored: 'note'"):
        (block,) = read_blocks(path, features=["a", "b"], labels=["l1", "l2"], with_labels=True)
    np.testing.assert_array_equal(block.X, [[2, 1], [4, NAN]])
    np.testing.assert_array_equal(block.Y, [[1, 0], [1, 1]])
    assert block.position == path.stat().st_size
    (block,) = read_blocks(path, features=["a", "b"], labels=["l1", "l2", "note"])
    assert block.Y is None
    for options, message in [
        ({"features": ["a", "B", "c"]}, r"2 of the 3 columns of the model are missing: 'B', 'c'. Similar: 'b'"),
        ({"features": ["a"], "labels": ["l3"], "with_labels": True}, "no column is named 'l3', which is a label"),
        ({"features": ["note"], "labels": ["a", "b", "l1", "l2"]}, "line 2, column 'note': 'x' is not a number"),
    ]:
        with pytest.raises(DataFileError, match=message):
            next(read_blocks(path, **options))


def test_blocks_of_arff(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(ARFF.format("plain"))
    (block,) = read_blocks(path, features=["c=blue", "x", "c=red", "c=green"], labels=["l"])
    np.testing.assert_array_equal(block.X, [[0, 1, 1, 0], [1, 2, 0, 0]])
    (block,) = read_blocks(path, features=["c=blue", "x", "c=red", "c=green"], labels=["l"], with_labels=True)
    np.testing.assert_array_equal(block.Y, [[1], [0]])
    path.write_text("@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n{0 1}\n{1 2}\n")
    (block,) = read_blocks(path, features=["y", "x"], labels=["l"])
    assert issparse(block.X)
    np.testing.assert_array_equal(block.X.toarray(), [[0, 1], [2, 0]])


@settings(deadline=None, max_examples=25)
@given(size=st.integers(16, 400), seed=st.integers(0, 1000), base=st.integers(0, 1), last=st.booleans())
def test_svmlight_by_blocks_equals_svmlight_at_once(tmp_path_factory, size, seed, base, last):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 7)).round(3) * (rng.uniform(size=(30, 7)) < 0.4)
    Y = rng.integers(0, 2, size=(30, 3))
    X[:, 0], Y[:, 0] = 1, 1
    buffer = io.BytesIO()
    dump_svmlight_file(X, Y, buffer, multilabel=True, zero_based=not base)
    path = tmp_path_factory.mktemp("svm", numbered=True) / "data.svm"
    path.write_bytes(buffer.getvalue() if last else buffer.getvalue().rstrip())
    names = [str(i) for i in range(base, base + 7)]
    data = read(path)
    assert data.feature_names == tuple(names[: data.X.shape[1]])
    options = {"labels": ["0", "1", "2"], "with_labels": True, "block_bytes": size}
    blocks = list(read_blocks(path, features=names, **options))
    if size < 100:
        assert len(blocks) > 3
    np.testing.assert_array_equal(sparse_vstack([block.X for block in blocks]).toarray(), X)
    np.testing.assert_array_equal(sparse_vstack([block.Y for block in blocks]).toarray(), Y)
    np.testing.assert_array_equal(data.X.toarray(), X[:, : data.X.shape[1]])


def test_svmlight_features_are_named_by_their_numbers(write_file):
    path = write_file("0,0,5 1:1 9:2\n\n# note\n1:3 3:1 # more\n", "data.svm")
    with pytest.warns(UserWarning, match="ignored") as notes:
        (block,) = read_blocks(path, features=["1", "2", "3"], labels=["0", "1"], with_labels=True)
    np.testing.assert_array_equal(block.X.toarray(), [[1, 0, 0], [3, 0, 1]])
    np.testing.assert_array_equal(block.Y.toarray(), [[1, 0], [0, 0]])
    assert [str(note.message).split(": ")[1] for note in notes] == [
        "features that the model does not know are ignored, such as 9.",
        "labels that the model does not know are ignored, such as 5.",
    ]
    with pytest.raises(DataFileError, match="have numbers, but those of the model have names, such as 'tempo'"):
        next(read_blocks(path, features=["tempo"]))
    assert read(write_file("1:3 3:1\n", "data.svm")).Y is None
    np.testing.assert_array_equal(read(write_file("2,2 0:1\n", "data.svm")).Y, [[0, 0, 1]])


@pytest.mark.slow
def test_blocks_take_little_memory(tmp_path):
    lines, names = tmp_path / "data.svm", list(map(str, range(100)))
    lines.write_text(("0 " + " ".join(f"{name}:0.125" for name in names) + "\n") * 3000)
    table = tmp_path / "data.csv"
    table.write_text(",".join(names) + "\n" + (",".join(["0.125"] * 100) + "\n") * 3000)
    for path, block_bytes in ((lines, 1 << 15), (table, 1 << 16)):
        tracemalloc.start()
        blocks = read_blocks(path, features=names, block_bytes=block_bytes)
        assert sum(block.X.shape[0] for block in blocks) == 3000
        assert tracemalloc.get_traced_memory()[1] < 1_200_000  # as a dense array the samples have 2,400,000 bytes
        tracemalloc.stop()
