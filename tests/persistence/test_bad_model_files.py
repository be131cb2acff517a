"""Files that are no models, are damaged, or mean harm: one clear error each, and nothing else happens."""

import io
import json
import os
import pickle
import sys
import tracemalloc
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from fuzz_model_files import fuzz
from scipy.sparse import csr_array

import sdgs
from sdgs import ModelFileError, SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.persistence._container import read, write
from sdgs.persistence.codecs._model_codec import FORMAT, VERSION


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    data = make_label_subspaces(60, 8, 3, n_components=2, random_state=0)
    path = tmp_path_factory.mktemp("saved") / "model.sdgs"
    SDGSClassifier(2, random_state=0).fit(data.X, data.Y).save(path)
    return path


def load(folder, content):
    path = folder / "bad.sdgs"
    path.write_bytes(content)
    return sdgs.load(path)


def header_of(content):
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length : -32]


def with_header(header, arrays):
    """A file with a checksum that is right."""
    text = json.dumps(header).encode()
    start = len(text).to_bytes(8, "little") + text + arrays
    return start + sha256(start).digest()


class Harm:
    def __reduce__(self):
        return os.mkdir, ("harm",)


def zipped(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def npz_of_objects():
    file = io.BytesIO()
    np.savez(file, a=np.array([Harm()], dtype=object))
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"\0" * 4096,
        b"\xff" * 4096,
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b'"\xff"x',
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        pickle.dumps(Harm()),
        npz_of_objects(),
        zipped("../../escaped", b"x"),
        zipped("bomb.npy", b"\0" * (1 << 24)),
        b"%PDF-1.7 " + bytes(range(256)),
    ],
    ids=lambda content: f"{len(content)} bytes from {content[:4]!r}",
)
def test_foreign_files_are_refused(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFileError, match=r"bad.sdgs cannot be read as sdgs-model"):
        load(tmp_path, content)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.sdgs"]


def test_what_is_not_a_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        sdgs.load(tmp_path / "none.sdgs")
    os.mkfifo(tmp_path / "pipe")  # reading would never end
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ModelFileError, match="is not a file"):
            sdgs.load(path)


def test_every_truncation_and_every_flipped_byte_is_found(saved, tmp_path):
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    for size in [*range(0, 40), *rng.integers(40, len(content), 200), len(content) - 1]:
        with pytest.raises(ModelFileError):
            load(tmp_path, content[:size])
    for place in [*range(0, 40), *rng.integers(40, len(content), 400), len(content) - 1]:
        changed = bytearray(content)
        changed[place] ^= 0x11
        with pytest.raises(ModelFileError):
            load(tmp_path, bytes(changed))
    with pytest.raises(ModelFileError, match="something after its end"):
        load(tmp_path, content + b"\0")


def test_a_future_version_says_what_to_do(saved, tmp_path):
    header, arrays = header_of(saved.read_bytes())
    header["__metadata__"] |= {"version": str(VERSION + 1), "library": "9.1"}
    with pytest.raises(
        ModelFileError, match=rf"format version {VERSION + 1}, written by sdgs '9.1'.*install a newer one"
    ):
        load(tmp_path, with_header(header, arrays))


def test_sizes_that_are_only_claimed_take_no_memory(saved, tmp_path):
    header, arrays = header_of(saved.read_bytes())
    claims = []
    for size in (1 << 40, 1 << 48, 1 << 62):
        big = json.loads(json.dumps(header))
        end = big["sha256"]["data_offsets"][0]
        big["claimed"] = {"dtype": "F64", "shape": [size // 8], "data_offsets": [end, end + size]}
        big["sha256"] = big.pop("sha256") | {"data_offsets": [end + size, end + size + 32]}
        claims.append(with_header(big, arrays))
        claims.append(size.to_bytes(8, "little") + b"{" * 100)
    tracemalloc.start()
    for claim in claims:
        with pytest.raises(ModelFileError):
            load(tmp_path, claim)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_strings_that_would_fill_the_memory_are_refused(tmp_path):
    data = make_label_subspaces(60, 8, 3, n_components=2, random_state=0)
    path = tmp_path / "model.sdgs"
    SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, data.Y.argmax(axis=1).astype(str)).save(path)
    content = read(path, FORMAT, (VERSION,))
    content.document["target"]["classes"]["value"] = ["x" * 1_000_000] + ["y"] * 100_000  # 400 GB as one array
    write(path, FORMAT, VERSION, "0", content.document, content.arrays)
    with pytest.raises(ModelFileError, match="too much memory"):
        sdgs.load(path)


def give_kernel(file, *, mapped=False, landmarks=None):
    """Say that the first member has a kernel."""
    member = file.document["members"][0]
    member["setting"]["gamma"] = 1.0
    member["kernel"] = {"name": "laplacian", "gamma": 1.0, "mapped": mapped}
    if landmarks is not None:
        file.arrays["member0.landmarks.dense"] = landmarks


FORGERIES = {
    "a parameter of an evil type": (
        lambda file: file.document["parameters"].update(alpha={"numpy": "|O", "value": 1}),
        "dtype",
    ),
    "an unknown parameter": (lambda file: file.document["parameters"].update(evil=1), "no parameter 'evil'"),
    "where to write": (lambda file: file.document["parameters"].update(checkpoint="/etc"), "no parameter 'checkpoint'"),
    "a parameter out of range": (lambda file: file.document["parameters"].update(alpha=-1), "alpha must be"),
    "a setting that cannot be coded": (
        lambda file: file.document["members"][0]["setting"].update(alpha=0, huber=0.1),
        "alpha must be",
    ),
    "too many threads": (lambda file: file.document["parameters"].update(n_jobs=10**6), "1024 threads at most"),
    "a class by name": (lambda file: file.document.update({"class": "os.system"}), "class must be one of"),
    "a field too many": (lambda file: file.document.update(more=1), "its JSON should have"),
    "a field too few": (lambda file: file.document.pop("target"), "its JSON should have"),
    "the wrong number of features": (lambda file: file.document["features"].update(number=9), "mean_ has shape"),
    "names that are none": (lambda file: file.document["features"].update(names=["a"]), "not 8 names"),
    "a threshold too many": (lambda file: file.arrays.update(thresholds=np.ones(4)), "thresholds has shape"),
    "an array too many": (lambda file: file.arrays.update(more=np.ones(4)), "'more' has no meaning"),
    "an array too few": (lambda file: file.arrays.pop("member0.rows"), "member0.rows is missing"),
    "integers for floats": (
        lambda file: file.arrays.update({"member0.objective": np.arange(3)}),
        "objective has dtype int64",
    ),
    "rows that are not there": (lambda file: file.arrays["member0.rows"].__setitem__(-1, 60), "rows is out of range"),
    "negative rows": (lambda file: file.arrays["member0.rows"].__setitem__(0, -1), "rows is out of range"),
    "rows in disorder": (lambda file: file.arrays["member0.rows"].__setitem__(0, 59), "rows are not in order"),
    "skewed subspaces": (lambda file: file.arrays["member0.components"].__setitem__((0, 0), 1.5), "not orthonormal"),
    "NaN": (lambda file: file.arrays["member0.ridge.coef"].__setitem__((0, 0), np.nan), "not finite"),
    "a narrow regression": (
        lambda file: file.arrays.update({"member0.ridge.coef": file.arrays["member0.ridge.coef"][:, 1:]}),
        "ridge.coef has",
    ),
    "a norm of one's own": (lambda file: file.document["members"][0].update(norm="l3"), "norm must be one of"),
    "a kernel where there are no landmarks": (give_kernel, "landmarks.* is missing"),
    "a map that is not there": (
        lambda file: give_kernel(file, mapped=True, landmarks=np.ones((2, 8))),
        "landmarks.map is missing",
    ),
    "no landmarks at all": (lambda file: give_kernel(file, landmarks=np.ones((0, 8))), "landmarks are none"),
    "a gamma without a kernel": (
        lambda file: file.document["members"][0]["setting"].update(gamma=1.0),
        "its JSON should have name, gamma",
    ),
    "a kernel without a gamma": (
        lambda file: file.document["members"][0].update(kernel={"name": "rbf", "gamma": 1.0}),
        "a kernel without a gamma",
    ),
    "labels read from the middle": (
        lambda file: file.document["readout"].update(read_from={"tuple": ["code"]}),
        "read_from should be the first of sample, code, norms",
    ),
    "entries of no row": (
        lambda file: file.arrays["member0.residual.indptr"].__setitem__(slice(1, 3), [9, 1]),
        "indptr is out of range",
    ),
    "scaled by nothing": (lambda file: file.arrays["member0.scaler.scale_"].__setitem__(0, 0), "not above zero"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_content_with_a_right_checksum_is_refused(name, saved, tmp_path):
    change, message = FORGERIES[name]
    content = read(saved, FORMAT, (VERSION,))
    change(content)
    write(tmp_path / "forged.sdgs", FORMAT, VERSION, "0.1", content.document, content.arrays)
    with pytest.raises(ModelFileError, match=f"forged.sdgs, written by sdgs '0.1', does not hold.*{message}"):
        sdgs.load(tmp_path / "forged.sdgs")


@pytest.mark.parametrize(
    "members", [None, {}, 3, [3], "members", [{"norm": "l2"}], [{"landmarks_gamma": 1.0}], [{"setting": 3}]]
)
def test_forged_content_of_an_old_version_is_refused(members, tmp_path):
    content = read(Path(__file__).parent / "models" / "v1-ridge.sdgs", FORMAT, (1,))
    if isinstance(members, list) and isinstance(members[0], dict):
        members = [content.document["members"][0] | members[0]]
    content.document["members"] = members
    write(tmp_path / "forged.sdgs", FORMAT, 1, "0.1", content.document, content.arrays)
    with pytest.raises(ModelFileError, match=r"forged\.sdgs, written by sdgs '0\.1', does not hold"):
        sdgs.load(tmp_path / "forged.sdgs")


@pytest.mark.parametrize("gamma", [None, 0, -1.0, "1", True, {"numpy": "<f8", "value": 1.0}])
@pytest.mark.parametrize("version", [3, 4])
def test_forged_kernels_are_refused(version, gamma, tmp_path):
    content = read(Path(__file__).parent / "models" / f"v{version}-kernel.sdgs", FORMAT, (version,))
    member = content.document["members"][0]
    member.update({"landmarks_gamma": gamma} if version == 3 else {"kernel": member["kernel"] | {"gamma": gamma}})
    write(tmp_path / "forged.sdgs", FORMAT, version, "0.1", content.document, content.arrays)
    with pytest.raises(ModelFileError, match=r"gamma must be|are of a kernel"):
        sdgs.load(tmp_path / "forged.sdgs")


def below_zero(file):
    file.arrays["member0.landmarks.weights"][0] = -1


def empty(file):
    for name in ("dense", "map"):
        file.arrays[f"member0.landmarks.{name}"] = file.arrays[f"member0.landmarks.{name}"][:0]


def sparse(file):
    landmarks = csr_array(file.arrays.pop("member0.landmarks.dense"))
    for name in ("data", "indices", "indptr"):
        file.arrays[f"member0.landmarks.{name}"] = getattr(landmarks, name)


def one_part_fewer(file):
    read_from = file.document["readout"]["read_from"]["tuple"]
    read_from.pop()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (one_part_fewer, "read_from is not what ridge.coef has columns for"),
        (lambda file: file.document["members"][0].update(reads_kernel_first=None), "in place of true or false"),
        (below_zero, "weights are below zero, or of sparse"),
        (sparse, "weights are below zero, or of sparse"),
        (empty, "landmarks are none"),
        (lambda file: file.arrays["member0.landmarks.map"].__setitem__((0, 0), 1e8), "map is too large"),
        (lambda file: file.document["members"][0]["kernel"].update(mapped=False), "has no mapped yet"),
        (lambda file: file.document["members"][0]["kernel"].update(name="linear"), "the kernel's name must be one of"),
    ],
)
def test_forged_maps_are_refused(change, message, tmp_path):
    content = read(Path(__file__).parent / "models" / "v4-kernel.sdgs", FORMAT, (4,))
    change(content)
    write(tmp_path / "forged.sdgs", FORMAT, 4, "0.1", content.document, content.arrays)
    with pytest.raises(ModelFileError, match=message):
        sdgs.load(tmp_path / "forged.sdgs")


def test_an_old_kernel_may_have_a_gamma_of_numpy(tmp_path):
    path = Path(__file__).parent / "models" / "v2-kernel.sdgs"
    content = read(path, FORMAT, (2,))
    content.document["members"][0]["setting"]["gamma"] = {"numpy": "<f4", "value": 1.0}
    write(tmp_path / "old.sdgs", FORMAT, 2, "0.1", content.document, content.arrays)
    X = np.random.default_rng(0).standard_normal((5, 8))
    found, expected = (sdgs.load(file).decision_function(X) for file in (tmp_path / "old.sdgs", path))
    np.testing.assert_array_equal(found, expected)


def test_a_frame_of_labels_asks_for_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModelFileError, match="Install pandas"):
        sdgs.load(Path(__file__).parent / "models" / "v1-search.sdgs")


def test_names_are_not_taken_twice(saved, tmp_path):
    content = saved.read_bytes()
    length = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + length].rstrip()[:-1] + b', "sha256": 1}'
    with pytest.raises(ModelFileError, match="a name twice"):
        load(tmp_path, len(text).to_bytes(8, "little") + text + content[8 + length :])


def test_a_few_thousand_mutations(tmp_path):
    # python tests/persistence/fuzz_model_files.py 100000 for many more
    count = fuzz(3000, 0, tmp_path)
    assert count["refused"] > 2000
    assert count["loaded"] > 100
