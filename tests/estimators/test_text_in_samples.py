"""Estimators that take only numbers say which columns are text, and how to encode them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import make_pipeline

from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier
from sdgs.methods import BinaryRelevance, ClassifierChains
from sdgs.preprocessing import TableEncoder

Y = np.array([[1, 0], [0, 1]] * 6)
TABLE = pd.DataFrame({"ticket": [f"R{i} open" for i in range(12)], "plan": ["a", "b"] * 6, "amount": np.arange(12.0)})
trees = ExtraTreesClassifier(3, random_state=0)
MODELS = (
    ClassifierChains(),
    BinaryRelevance(),
    DecisionClassifier(trees, cv=2),
    DecisionClassifier(BinaryRelevance(), cv=2),
    AveragingClassifier([("trees", trees), ("chains", ClassifierChains())], cv=2),
    SDGSClassifier(encode=None),
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("dtype", ["object", "str", "category"])
def test_columns_of_text_are_named(model, dtype):
    X = TABLE.astype({"ticket": dtype, "plan": dtype})
    with pytest.raises(
        ValueError, match=r"columns that are not numbers: 'ticket', 'plan'\. .*make_pipeline.*Table"
    ) as e:
        model.fit(X, Y)
    assert str(e.value).count("TableEncoder") == 1


@pytest.mark.parametrize("model", [*MODELS[:-1], SDGSClassifier()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("convert", [np.array, lambda X: X.tolist()], ids=["array", "list"])
def test_columns_of_arrays_are_named_by_their_positions(model, convert):
    with pytest.raises(ValueError, match=r"string to float: .*not numbers: number 0, number 1\. make_pipeline.*Table"):
        model.fit(convert(TABLE.to_numpy()), Y)


def test_dates_are_named():
    X = TABLE[["amount"]].assign(opened=pd.Timestamp("2025-01-01"))
    with pytest.raises(TypeError, match=r"not numbers: 'opened'"):
        ClassifierChains().fit(X, Y)


def test_columns_of_polars_are_named():
    with pytest.raises(ValueError, match=r"not numbers: 'ticket', 'plan'"):
        ClassifierChains().fit(pl.DataFrame(TABLE.to_dict("list")), Y)


def test_the_advice_works():
    for model in (ClassifierChains(), DecisionClassifier(trees, cv=2)):
        assert make_pipeline(TableEncoder(), model).fit(TABLE, Y).predict(TABLE).shape == Y.shape


def test_other_errors_stay_as_they_are():
    class Stubborn(ExtraTreesClassifier):
        def fit(self, X, y):  # noqa: ARG002
            raise ValueError("another error")

    with pytest.raises(ValueError, match=r"^another error$"):
        DecisionClassifier(Stubborn(), cv=2).fit(TABLE, Y)
    with pytest.raises(TypeError, match=r"argument must be .* string.* number") as error:
        ClassifierChains().fit(np.array([[{}, 1]] * 12, dtype=object), Y)
    assert "TableEncoder" not in str(error.value)
