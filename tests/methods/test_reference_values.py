"""The deterministic values of a reference implementation, all measures, on Emotions, Medical, Scene and Yeast.

Dense samples are standardised, sparse ones have rows of unit norm; the base learner is logistic regression with C = 1,
or 10 for Medical. Values that depend on random numbers are tested beside each method.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sdgs.datasets import load_mulan
from sdgs.methods import (
    PLST,
    ClassifierChains,
    CurdsAndWhey,
    HierarchicalRelevance,
    LabelPowerset,
    RAkEL,
    ReducedRankRidge,
    SharedSubspace,
    SparseLowRank,
)

pytestmark = pytest.mark.slow
DIGITS = 6e-4  # three digits
# The measures that are known for each data set, in the order of `measures`
RANKING = ("ranking_loss", "average_precision", "one_error", "coverage")
ALL = ("hamming", "subset", "f1", "jaccard", "micro_f1", "macro_f1", *RANKING)
SOME = ("hamming", "subset", "f1", "micro_f1", "ranking_loss", "average_precision")
BASE = LogisticRegression(max_iter=2000)
MEDICAL_BASE = LogisticRegression(C=10, max_iter=2000)


@pytest.fixture(scope="session")
def problem(data_home, emotions, medical):
    """A function from a name to training samples and labels, and test samples and labels."""
    loaded = {"emotions": emotions, "medical": medical}

    def load(name):
        if name not in loaded:
            folder = data_home / name
            if not folder.is_dir():
                pytest.skip(f"{name} is not among the data")
            files = (folder / f"{name}-{split}.arff.gz" for split in ("train", "test"))
            train, test = (load_mulan(file, folder / f"{name}.xml") for file in files)
            scaler = StandardScaler().fit(train.X)
            loaded[name] = scaler.transform(train.X), train.Y, scaler.transform(test.X), test.Y
        return loaded[name]

    return load


def check(samples, measures, model, names, expected, tolerance=DIGITS):
    X, Y, X_test, Y_test = samples
    model.fit(X, Y)
    values = measures(Y_test, model.predict(X_test), model.decision_function(X_test))
    for name, value in zip(names, expected, strict=False):
        # The coverage is a number of labels.
        assert values[name] == pytest.approx(value, abs=20 * tolerance if name == "coverage" else tolerance), name


@pytest.mark.parametrize(
    "model",
    [HierarchicalRelevance(BASE), RAkEL(BASE, labelset_size=1, average="marginals")],
    ids=["hierarchy of depth 1", "one label per set"],
)
def test_binary_relevance(problem, measures, model):
    expected = {
        "emotions": [0.2211, 0.1980, 0.5861, 0.4938, 0.6408, 0.6262, 0.1614, 0.8111, 0.2525, 1.876],
        "medical": [0.0152, 0.4465, 0.5275, 0.5072, 0.6481, 0.1797, 0.0273, 0.8714, 0.1705, 1.867],
        "scene": [0.1299, 0.4440, 0.5881, 0.6362, 0.1091, 0.8185],
        "yeast": [0.2109, 0.1516, 0.5996, 0.6249, 0.1863, 0.7420],
    }
    for name, values in expected.items():
        model.set_params(estimator=MEDICAL_BASE if name == "medical" else BASE)
        check(problem(name), measures, model, ALL if len(values) > 6 else SOME, values)


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        ("scene", LabelPowerset(BASE), [0.1119, 0.6288, 0.6887, 0.6860, 0.0996, 0.8286]),
        ("scene", LabelPowerset(BASE, decision="marginals"), [0.1081, 0.6246, 0.6834, 0.6916]),
        ("scene", ClassifierChains(BASE), [0.1225, 0.5343, 0.6380, 0.6581, 0.1154, 0.8094]),
        ("scene", ClassifierChains(BASE, decision="mode"), [0.1230, 0.5351, 0.6395, 0.6574, 0.1134, 0.8104]),
        ("scene", ClassifierChains(BASE, decision="marginals"), [0.1230, 0.5159, 0.6250, 0.6541]),
        ("yeast", LabelPowerset(BASE), [0.2388, 0.1876, 0.5671, 0.5924, 0.1798, 0.7442]),
        ("yeast", LabelPowerset(BASE, decision="marginals"), [0.2223, 0.1832, 0.5768, 0.6067]),
        ("yeast", ClassifierChains(BASE), [0.2208, 0.2050, 0.5868, 0.6160, 0.2114, 0.7079]),
    ],
    ids=repr,
)
def test_label_powerset_and_chains(problem, measures, name, model, expected):
    # One of the 1196 test samples of Scene is tied but for the solver's precision.
    tolerance = 1e-3 if isinstance(model, LabelPowerset) and name == "scene" else DIGITS
    check(problem(name), measures, model, SOME, expected, tolerance)


def test_numbers_of_label_sets(problem):
    expected = {"emotions": 26, "medical": 61, "scene": 14, "yeast": 164}
    for name, number in expected.items():
        X, Y, *_ = problem(name)
        model = LabelPowerset(LogisticRegression(max_iter=1, tol=1e9)).fit(X[:, :5], Y)
        assert len(model.label_sets_) == number


@pytest.mark.parametrize(
    ("shrinkage", "expected"),
    [
        (
            "population",
            {
                "emotions": [0.2071, 0.2277, 0.5490, 0.4744, 0.6336, 0.6052, 0.1860, 0.7894, 0.2871, 2.010],
                "scene": [0.1297, 0.3913, 0.4493, 0.5556, 0.1339, 0.7878],
                "yeast": [0.1982, 0.1636, 0.6090, 0.6352, 0.1769, 0.7557],
            },
        ),
        (
            "gcv",
            {
                "emotions": [0.2071, 0.2228, 0.5345, 0.4604, 0.6259, 0.5747, 0.1709, 0.7998, 0.2772, 1.916],
                "scene": [0.1382, 0.2926, 0.3333, 0.4620, 0.1281, 0.7940],
                "yeast": [0.1990, 0.1505, 0.6064, 0.6310, 0.1743, 0.7563],
            },
        ),
    ],
)
def test_curds_and_whey(problem, measures, shrinkage, expected):
    for name, values in expected.items():
        check(problem(name), measures, CurdsAndWhey(shrinkage), ALL if len(values) > 6 else SOME, values)


def test_canonical_correlations(problem):
    expected = {
        "emotions": [0.8487, 0.6745, 0.5525, 0.5200, 0.4563, 0.4087],
        "scene": [0.9067, 0.8361, 0.7796, 0.6825, 0.6190, 0.5086],
    }
    expected["yeast"] = [0.6847, 0.6186, 0.4647, 0.4140, 0.3820, 0.3754, 0.3556]
    expected["yeast"] += [0.3313, 0.3074, 0.2865, 0.2624, 0.2467, 0.2361, 0.2210]
    for name, values in expected.items():
        X, Y, *_ = problem(name)
        np.testing.assert_allclose(CurdsAndWhey().fit(X, Y).canonical_correlations_, values, atol=6e-5)


@pytest.mark.parametrize(
    "build", [ReducedRankRidge, lambda r: PLST(r, alpha=1.0, conditional=True)], ids=["JiML", "CPLST"]
)
@pytest.mark.parametrize(
    ("name", "r", "names", "expected"),
    [
        ("emotions", 1, ALL, [0.2228, 0.2030, 0.4711, 0.4059, 0.5859, 0.5257, 0.1918, 0.7743]),
        ("emotions", 2, ALL, [0.2063, 0.2376, 0.5243, 0.4596, 0.6387, 0.6120, 0.1726, 0.8045]),
        ("emotions", 3, ALL, [0.2170, 0.2525, 0.5533, 0.4818, 0.6322, 0.6127, 0.1757, 0.8007]),
        ("emotions", 4, ALL, [0.2211, 0.2475, 0.5640, 0.4851, 0.6246, 0.6044, 0.1809, 0.7936]),
        ("emotions", 6, ALL, [0.2219, 0.2426, 0.5589, 0.4823, 0.6259, 0.6109, 0.1915, 0.7909, 0.2673, 2.059]),
        ("medical", 5, ALL, [0.0175, 0.377, 0.447, 0.430, 0.579, 0.088, 0.076, 0.674]),
        ("medical", 10, ALL, [0.0157, 0.425, 0.525, 0.501, 0.643, 0.142, 0.043, 0.815]),
        ("medical", 20, ALL, [0.0149, 0.461, 0.558, 0.534, 0.669, 0.190, 0.027, 0.875]),
        ("medical", 45, ALL, [0.0146, 0.4667, 0.5651, 0.5408, 0.6753, 0.1940, 0.0229, 0.8793, 0.1628, 1.538]),
        ("scene", 2, SOME, [0.1626, 0.1388, 0.1965, 0.3195, 0.1802, 0.7066]),
        ("scene", 4, SOME, [0.1338, 0.3687, 0.4501, 0.5560, 0.1436, 0.7721]),
        ("scene", 6, SOME, [0.1289, 0.4281, 0.5167, 0.5973, 0.1393, 0.7812]),
        ("yeast", 2, SOME, [0.2045, 0.1439, 0.5977, 0.6234, 0.1802, 0.7480]),
        ("yeast", 5, SOME, [0.2023, 0.1494, 0.6038, 0.6308, 0.1803, 0.7510]),
        ("yeast", 14, SOME, [0.2033, 0.1549, 0.6026, 0.6308, 0.1837, 0.7504]),
    ],
)
def test_reduced_rank_ridge(problem, measures, build, name, r, names, expected):
    check(problem(name), measures, build(r), names, expected, 8e-4 if name == "medical" else DIGITS)


@pytest.mark.parametrize(
    ("name", "r", "beta", "names", "expected"),
    [
        ("emotions", 2, 0.01, ALL, [0.2096, 0.2574, 0.5556, 0.4835, 0.6371, 0.6172, 0.1766, 0.7970, 0.2723, 1.941]),
        ("emotions", 2, 0.001, ALL, [0.2096, 0.2574, 0.5563, 0.4843, 0.6402, 0.6241, 0.1770, 0.7978, 0.2624, 1.946]),
        ("medical", 10, 0.001, ALL, [0.0144, 0.485, 0.594, 0.567, 0.692, 0.163, 0.049, 0.800]),
        ("medical", 40, 0.001, ALL, [0.0124, 0.567, 0.676, 0.649, 0.744, 0.261, 0.025, 0.886]),
        ("scene", 5, 0.01, SOME, [0.1242, 0.4440, 0.5208, 0.6045, 0.1253, 0.8013]),
        ("scene", 2, 0.01, SOME, [0.1203, 0.4306, 0.4902, 0.5950, 0.1103, 0.8200]),
        ("yeast", 5, 0.01, SOME, [0.2010, 0.1538, 0.6017, 0.6311, 0.1801, 0.7528]),
        ("yeast", 10, 0.01, SOME, [0.2031, 0.1549, 0.6027, 0.6312, 0.1825, 0.7512]),
    ],
)
def test_shared_subspace(problem, measures, name, r, beta, names, expected):
    check(problem(name), measures, SharedSubspace(r, alpha=1, beta=beta), names, expected)


@pytest.mark.parametrize(
    ("name", "gamma", "tau", "names", "expected", "tolerance"),
    [
        (
            "emotions",
            10,
            1,
            ALL,
            [0.2087, 0.2624, 0.5551, 0.4847, 0.6307, 0.6082, 0.1872, 0.7826, 0.3168, 1.975],
            DIGITS,
        ),
        # The others are from 200 or 300 iterations, which had not converged everywhere.
        ("medical", 0.5, 5, ALL, [0.0110, 0.6217, 0.7410, 0.7111, 0.7881, 0.3220, 0.0262, 0.8911], 1e-3),
        ("scene", 20, 2, SOME, [0.1219, 0.4490, 0.5202, 0.6071, 0.1195, 0.8093], 5e-3),
        ("yeast", 20, 2, SOME, [0.2012, 0.1538, 0.6046, 0.6333, 0.1804, 0.7535], DIGITS),
    ],
)
def test_sparse_low_rank(problem, measures, name, gamma, tau, names, expected, tolerance):
    check(problem(name), measures, SparseLowRank(gamma, tau), names, expected, tolerance)
