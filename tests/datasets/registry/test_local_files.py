import functools
import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from sdgs.datasets import REGISTRY, DataFileError, fetch, load

FILES = {
    "emotions-train.arff": "@relation r\n@attribute x numeric\n@attribute l {0,1}\n@data\n1,1\n2,0\n",
    "emotions-test.arff": "@relation r\n@attribute x numeric\n@attribute l {0,1}\n@data\n3,1\n",
    "emotions.xml": '<labels><label name="l"/></labels>',
}


@pytest.fixture
def small(monkeypatch):
    """The data set emotions with the small files above."""
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in FILES.items()}
    monkeypatch.setitem(REGISTRY, "emotions", replace(REGISTRY["emotions"], files=sums))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "home" / "emotions").mkdir(parents=True)
    for name, text in FILES.items():
        (tmp_path / "home" / "emotions" / name).write_text(text)
    return tmp_path / "home"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Broken(BaseHTTPRequestHandler):
    """Promises more than it sends."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"@relation")

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(handler):
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.usefixtures("small")
def test_load_searches_data_home_then_the_environment_then_the_cache(folder, monkeypatch, tmp_path):
    np.testing.assert_array_equal(load("emotions", data_home=folder).X, [[1], [2]])
    np.testing.assert_array_equal(load("emotions", "test", data_home=folder).Y, [[1]])
    monkeypatch.setenv("SDGS_DATA", str(folder))
    assert load("emotions").label_names == ("l",)
    monkeypatch.setenv("SDGS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder.rename(tmp_path / "sdgs")
    assert load("emotions").X.shape == (2, 1)


def test_the_error_for_an_absent_file_says_where_to_get_it(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"Get genbase-train.arff, genbase.xml from Mulan's repository"
    ) as error:
        load("genbase", data_home=tmp_path)
    assert f"put them into {tmp_path / 'genbase'}" in str(error.value)
    with pytest.raises(ValueError, match="name must be one of 'corel5k'"):
        load("corel")
    with pytest.raises(ValueError, match="split must be one of 'train', 'test'"):
        load("genbase", "all")


@pytest.mark.usefixtures("small")
def test_a_file_with_another_checksum_is_rejected_unless_verify_is_false(folder):
    (folder / "emotions" / "emotions-train.arff").write_text(FILES["emotions-train.arff"].replace("2,0", "2,1"))
    with pytest.raises(DataFileError, match=r"emotions-train.arff: the checksum is not that .* pass verify=False"):
        load("emotions", data_home=folder)
    np.testing.assert_array_equal(load("emotions", data_home=folder, verify=False).Y, [[1], [1]])


@pytest.mark.usefixtures("small")
def test_fetch_writes_complete_and_verified_files(folder, serve, tmp_path):
    address = serve(functools.partial(Quiet, directory=str(folder)))
    calls = []
    downloaded = fetch(
        "emotions", mirror=address, data_home=tmp_path / "new", progress=lambda *call: calls.append(call)
    )
    assert sorted(path.name for path in downloaded.iterdir()) == sorted(FILES)
    assert load("emotions", data_home=tmp_path / "new").X.shape == (2, 1)
    assert ("emotions.xml", len(FILES["emotions.xml"]), len(FILES["emotions.xml"])) in calls
    calls.clear()
    fetch(
        "emotions", mirror="http://127.0.0.1:9/", data_home=tmp_path / "new", progress=lambda *call: calls.append(call)
    )
    assert not calls  # nothing is requested, because all files are there
    (downloaded / "emotions.xml").write_text("damaged")
    fetch("emotions", mirror=address + "/", data_home=tmp_path / "new")
    assert (downloaded / "emotions.xml").read_text() == FILES["emotions.xml"]


@pytest.mark.usefixtures("small")
def test_a_download_that_fails_leaves_nothing(folder, serve, tmp_path):
    (folder / "emotions" / "emotions-train.arff").write_text("something else")
    for mirror, message in [
        (serve(functools.partial(Quiet, directory=str(folder))), "the checksum of the file is wrong"),
        (serve(functools.partial(Quiet, directory=str(tmp_path / "none"))), "could not be downloaded"),
        (serve(Broken), "could not be downloaded|checksum"),
        ("http://127.0.0.1:9", "could not be downloaded"),
        ("file:///etc", "the address must start with http"),
    ]:
        with pytest.raises(DataFileError, match=message):
            fetch("emotions", mirror=mirror, data_home=tmp_path / "new")
        assert not list((tmp_path / "new" / "emotions").iterdir())
