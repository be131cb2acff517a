"""The figures that the paper prints, and bounds that they must obey.

For one sample with precision P, recall R, F and Jaccard index A (the paper's accuracy)::

    A <= P, A <= R        the union is no smaller than either set
    F >= A                F = 2A / (1 + A), and A <= 1
    F <= 2A / (1 + A)     with equality; concave in A, so for means it becomes <=
    F <= (P + R) / 2      the harmonic mean is at most the arithmetic one
    A >= P + R - 1        A = PR / (P + R - PR), and (1 - P)(1 - R) >= 0

Each bound is linear in the means or follows from Jensen's inequality. A row of averages over the same samples that
violates one is therefore impossible, whatever the data and the predictions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

PAPER_METRICS = ("hamming_loss", "precision", "recall", "f1", "accuracy")


@dataclass(frozen=True)
class PublishedSet:
    """A row of the paper's table of data sets, and where its results are printed."""

    title: str
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    cardinality: str
    table: str
    note: str = ""


_GENBASE = "The paper counts the name of the protein as a feature. It is an id, so one feature less is read."
_EMOTIONS = "The files have 1108 labels for 593 samples, which is 1.86846 per sample and rounds to 1.868."
SETS: Mapping[str, PublishedSet] = {
    "corel5k": PublishedSet("Corel5k", 4500, 500, 499, 374, "3.522", "seven"),
    "mediamill": PublishedSet("Mediamill", 30993, 12914, 120, 101, "4.376", "seven"),
    "enron": PublishedSet("Enron", 1123, 579, 1001, 53, "3.378", "seven"),
    "genbase": PublishedSet("Genbase", 463, 199, 1186, 27, "1.252", "seven", _GENBASE),
    "medical": PublishedSet("Medical", 333, 645, 1449, 45, "1.245", "seven"),
    "emotions": PublishedSet("Emotions", 391, 202, 72, 6, "1.869", "seven", _EMOTIONS),
    "slashdot": PublishedSet("Slashdot", 2338, 1444, 1079, 22, "1.181", "seven"),
    "yahoo-arts": PublishedSet("Yahoo-Arts", 2000, 3000, 462, 26, "1.636", "yahoo"),
    "yahoo-education": PublishedSet("Yahoo-Education", 2000, 3000, 550, 33, "1.461", "yahoo"),
    "yahoo-recreation": PublishedSet("Yahoo-Recreation", 2000, 3000, 606, 22, "1.423", "yahoo"),
    "yahoo-science": PublishedSet("Yahoo-Science", 2000, 3000, 743, 40, "1.451", "yahoo"),
}

# Hamming loss, precision, recall, F1, accuracy (percent) and CPU seconds, as printed.
RESULTS: Mapping[tuple[str, str], tuple[str, str, str, str, str, str]] = {
    ("yahoo-arts", "br"): ("5", "76", "25", "26", "24", "46.8"),
    ("yahoo-arts", "mlknn"): ("6", "62", "7", "25", "6", "77.6"),
    ("yahoo-arts", "mddm"): ("6", "68", "6", "21", "5", "37.4"),
    ("yahoo-arts", "sdgs"): ("9", "35", "40", "31", "28", "11.7"),
    ("yahoo-education", "br"): ("4", "69", "27", "28", "26", "50.1"),
    ("yahoo-education", "mlknn"): ("4", "58", "6", "31", "5", "99.8"),
    ("yahoo-education", "mddm"): ("4", "59", "5", "26", "5", "45.2"),
    ("yahoo-education", "sdgs"): ("4", "41", "35", "32", "29", "12.6"),
    ("yahoo-recreation", "br"): ("5", "84", "23", "23", "22", "53.2"),
    ("yahoo-recreation", "mlknn"): ("6", "70", "9", "23", "8", "112"),
    ("yahoo-recreation", "mddm"): ("6", "66", "7", "18", "6", "41.9"),
    ("yahoo-recreation", "sdgs"): ("7", "41", "49", "36", "30", "19.1"),
    ("yahoo-science", "br"): ("3", "79", "19", "19", "19", "84.9"),
    ("yahoo-science", "mlknn"): ("3", "59", "4", "20", "4", "139"),
    ("yahoo-science", "mddm"): ("3", "66", "4", "19", "4", "53.0"),
    ("yahoo-science", "sdgs"): ("5", "31", "39", "29", "26", "20.1"),
    ("genbase", "br"): ("31", "5", "39", "9", "5", "1.99"),
    ("genbase", "mlknn"): ("0.6", "100", "50", "92", "50", "9.38"),
    ("genbase", "mddm"): ("0.6", "98", "51", "92", "51", "6.09"),
    ("genbase", "sdgs"): ("2", "83", "96", "86", "70", "8.62"),
    ("mediamill", "br"): ("4", "69", "35", "43", "33", "120141"),
    ("mediamill", "mlknn"): ("3", "41", "6", "54", "5", "5713"),
    ("mediamill", "mddm"): ("3", "36", "5", "53", "4", "48237"),
    ("mediamill", "sdgs"): ("3", "58", "78", "53", "37", "1155"),
    ("emotions", "br"): ("29", "55", "53", "51", "42", "0.68"),
    ("emotions", "mlknn"): ("28", "68", "28", "41", "22", "0.66"),
    ("emotions", "mddm"): ("29", "54", "28", "41", "22", "0.66"),
    ("emotions", "sdgs"): ("22", "40", "100", "52", "37", "0.01"),
    ("enron", "br"): ("6", "51", "28", "35", "24", "77.1"),
    ("enron", "mlknn"): ("5", "51", "7", "46", "5", "527"),
    ("enron", "mddm"): ("5", "50", "8", "49", "7", "29"),
    ("enron", "sdgs"): ("6", "44", "50", "40", "28", "271"),
    ("medical", "br"): ("31", "2", "26", "5", "2", "4.88"),
    ("medical", "mlknn"): ("2", "75", "7", "48", "6", "22.8"),
    ("medical", "mddm"): ("2", "74", "3", "30", "2", "32.3"),
    ("medical", "sdgs"): ("8", "36", "90", "45", "26", "7.5"),
    ("slashdot", "br"): ("13", "11", "22", "14", "10", "140"),
    ("slashdot", "mlknn"): ("4", "71", "10", "31", "8", "708"),
    ("slashdot", "mddm"): ("5", "39", "1", "4", "1", "114"),
    ("slashdot", "sdgs"): ("8", "38", "61", "37", "27", "175"),
    ("corel5k", "br"): ("8", "2", "20", "4", "2", "2240"),
    ("corel5k", "mlknn"): ("0.9", "62", "1", "3", "0.9", "2106"),
    ("corel5k", "mddm"): ("0.9", "62", "1", "7", "1", "458"),
    ("corel5k", "sdgs"): ("2", "9", "11", "8", "5", "1054"),
}


def published(dataset: str, method: str) -> dict[str, str] | None:
    """The printed figures of one row, by metric and ``"seconds"``, or None."""
    row = RESULTS.get((dataset, method))
    return dict(zip((*PAPER_METRICS, "seconds"), row, strict=True)) if row else None


def violated_bounds(row: Mapping[str, str]) -> list[str]:
    """The bounds above that a printed row violates by more than its rounding can explain."""
    # Half a unit of the last printed digit in either direction.
    slack = {name: 0.5 * 10.0 ** -len(row[name].partition(".")[2]) for name in PAPER_METRICS}
    value = {name: float(row[name]) for name in PAPER_METRICS}
    low = {name: value[name] - slack[name] for name in PAPER_METRICS}
    high = {name: value[name] + slack[name] for name in PAPER_METRICS}
    max_f1 = 200 * high["accuracy"] / (100 + high["accuracy"])
    max_mean = (high["precision"] + high["recall"]) / 2
    min_accuracy = low["precision"] + low["recall"] - 100
    violations = []
    for name in ("precision", "recall"):
        if low["accuracy"] > high[name]:
            violations.append(f"accuracy {row['accuracy']} is above {name} {row[name]}")
    if high["f1"] < low["accuracy"]:
        violations.append(f"F1 {row['f1']} is below accuracy {row['accuracy']}")
    if low["f1"] > max_f1:
        violations.append(f"F1 {row['f1']} is above 2A/(1+A), at most {max_f1:.1f} for accuracy {row['accuracy']}")
    if low["f1"] > max_mean:
        violations.append(f"F1 {row['f1']} is above the mean of precision and recall, at most {max_mean:.1f}")
    if high["accuracy"] < min_accuracy:
        violations.append(f"accuracy {row['accuracy']} is below precision + recall - 100, at least {min_accuracy:.1f}")
    return violations
