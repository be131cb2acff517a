"""Models that were fitted in Python, with and without names of columns."""

import numpy as np
import pandas as pd

from sdgs import SDGSClassifier
from sdgs.datasets import read


def test_models_made_in_python(run, songs):
    data = read(songs / "train.csv", labels=["is_*"])
    X, Y = pd.DataFrame(data.X, columns=data.feature_names), pd.DataFrame(data.Y, columns=data.label_names)
    SDGSClassifier(2, random_state=0).fit(X, Y).save("frames.sdgs")
    assert "is_sad" in run("predict", "frames.sdgs", songs / "test.csv").stdout
    kinds = np.where(data.Y[:, 0] == 1, "calm", "other")
    model = SDGSClassifier(3, penalty=0.01, random_state=0).fit(data.X, kinds)
    model.save("classes.sdgs", feature_names=data.feature_names)
    lines = run("predict", "classes.sdgs", songs / "test.parquet").stdout.splitlines()
    predicted = [line.split(",")[1] for line in lines[1:]]
    assert predicted == list(model.predict(read(songs / "test.csv", labels=["is_*"]).X))
    assert set(predicted) == {"calm", "other"}
    paper = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, kinds)
    paper.save("paper.sdgs", feature_names=data.feature_names)
    assert run("predict", "paper.sdgs", songs / "test.parquet", "--scores").stdout.startswith("sample,calm,other\n")
    SDGSClassifier(2, random_state=0).fit(data.X, data.Y).save("arrays.sdgs")
    assert (
        "6 of the 6 columns of the model are missing: '0'" in run("predict", "arrays.sdgs", songs / "test.csv").stderr
    )
