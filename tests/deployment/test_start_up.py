"""What a new process imports to load a model and predict."""

import subprocess
import sys

import numpy as np
import pytest

from sdgs import SDGSClassifier
from sdgs.readout._decision import Decision

PROGRAM = """
import sys, numpy as np, sdgs
model = sdgs.load(sys.argv[1])
loaded = "numba" in sys.modules
P, Y = model.predict_proba(np.eye(2, 30)), model.predict(np.eye(2, 30))
print(loaded, "numba" in sys.modules)
"""


@pytest.mark.slow
def test_no_numba_where_nothing_compiled_runs(tmp_path):
    X = np.random.default_rng(0).poisson(0.15, (100, 30)).astype(np.float64)
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(X, X[:, :3] > 0)
    assert model.read_from_ == ("sample",)
    model._decision = Decision("hamming_loss")
    model.save(tmp_path / "model.sdgs")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "model.sdgs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
