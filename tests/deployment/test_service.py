"""The service of docs/serving.md."""

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sdgs

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


def post(app, path, content):
    """Status and JSON of the answer of an ASGI application."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": json.dumps(content).encode(), "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http"}
    scope |= {"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers}
    with ThreadPoolExecutor(1) as pool:  # because a test of pages may have left an event loop in this thread
        pool.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(body)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of FastAPI's own dependencies
def test_the_service_of_the_page(songs, monkeypatch):
    pytest.importorskip("fastapi")
    (code,) = re.findall(r"^```python\n(import os\n.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    monkeypatch.setenv("MODEL", str(songs / "songs.sdgs"))
    names = {"__name__": "service"}
    exec(compile(code, "service.py", "exec"), names)
    model = sdgs.load(songs / "songs.sdgs")
    X = np.round(np.random.default_rng(0).standard_normal((3, 6)), 2)
    X[1, 2] = np.nan
    rows = [[None if np.isnan(value) else value for value in row] for row in X.tolist()]
    status, answer = post(names["app"], "/predict", {"samples": rows})
    assert status == 200
    labels = [["is_calm", "is_sad", "is_[odd]"][j] for j in range(3)]
    P, Y = model.predict_proba(X), model.predict(X).toarray()
    assert [list(sample["probabilities"].values()) for sample in answer] == P.tolist()
    assert [sample["labels"] for sample in answer] == [[labels[j] for j in np.flatnonzero(row)] for row in Y]
    status, answer = post(names["app"], "/predict", {"samples": [[1.0, 2.0]]})
    assert status == 422
    assert "X has 2 features" in answer["detail"]
    assert post(names["app"], "/predict", {"samples": [[1.0], [1.0, 2.0]]})[0] == 422
    assert post(names["app"], "/predict", {"samples": [["a"]]})[0] == 422
