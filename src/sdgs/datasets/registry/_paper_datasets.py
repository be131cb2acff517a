"""The paper's eleven data sets: sizes, sources, citations, and the checksums of their files."""

from dataclasses import dataclass
from typing import Literal

_MULAN = "Mulan's repository, github.com/tsoumakas/mulan at commit 43f6389, byte for byte"
_MULTILEARN = "the source distribution of scikit-multilearn 0.0.1, rewritten in Mulan's format"
_MATLAB = (
    "MATLAB files in github.com/Cappaso/enCorrLog at commit 569abbb and in github.com/SaltedPerson/MLMF at commit "
    "17de6c6, rewritten in Mulan's format with labels named Label1, Label2, ..."
)


@dataclass(frozen=True)
class Entry:
    """One of the paper's data sets. ``files`` has the SHA-256 checksum of each file."""

    name: str
    domain: str
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    files: dict[str, str]
    source: str
    citation: str

    def file(self, part: Literal["train", "test", "xml"]) -> str:
        """Name of the file of a split, or of the XML file of labels."""
        return next(name for name in self.files if (f"-{part}." in name) or (part == "xml" and name.endswith(".xml")))


_ENTRIES = (
    Entry(
        name="corel5k",
        domain="images",
        n_train=4500,
        n_test=500,
        n_features=499,
        n_labels=374,
        files={
            "corel5k-train.arff": "19eb253c447144bea74ffa86b4731a56022addae2ba7d0aab72ad07fdc02e9b3",
            "corel5k-test.arff": "e8f8e9cd052c43ba7bdfdf99d242f461fc8c2a03163466d921e576887b51d8a7",
            "corel5k.xml": "54ef6a6ccb7ca9b77524052b34b306d5d501661a5609b9d1cc7085b2b597679d",
        },
        source=_MULAN,
        citation="Duygulu, Barnard, de Freitas and Forsyth, Object recognition as machine translation, ECCV 2002",
    ),
    Entry(
        name="mediamill",
        domain="video",
        n_train=30993,
        n_test=12914,
        n_features=120,
        n_labels=101,
        files={
            "mediamill-train.arff.gz": "2be2f0bfaf60773469b92dce12005349acc319c8dc7a8df3cae3bfeaa8c160f4",
            "mediamill-test.arff.gz": "2d6a2021f0e137f4496f6a10e8743de2e82b06ae283aeaea52ee93f57beb331c",
            "mediamill.xml": "92ff2ac272580d0d6b492a736acd9988de8cb41d00cd0afb6b5b13a24dda33a1",
        },
        source=_MULTILEARN,
        citation=(
            "Snoek et al., The challenge problem for automated detection of 101 semantic concepts in "
            "multimedia, ACM Multimedia 2006"
        ),
    ),
    Entry(
        name="enron",
        domain="text",
        n_train=1123,
        n_test=579,
        n_features=1001,
        n_labels=53,
        files={
            "enron-train.arff": "2988cefc1cdf7a8004a20ef84615cc8fa1b5d7434c16687283b41454e2d9d194",
            "enron-test.arff": "2f3aad54a8f54caaab4ab01246fe9dd385ba944a2633028f52747b57eac5474e",
            "enron.xml": "ed40c92d7f613eed51714912cab10dddc4ce456262137d8fef230d44c7f4457b",
        },
        source=_MULAN,
        citation="Klimt and Yang, The Enron corpus, ECML 2004; labels by the UC Berkeley Enron Email Analysis Project",
    ),
    Entry(
        name="genbase",
        domain="proteins",
        n_train=463,
        n_test=199,
        n_features=1185,
        n_labels=27,
        files={
            "genbase-train.arff": "37670db2c2b308a1c163d05501819526f1d65d659638ddfb76812d4ce384b5c6",
            "genbase-test.arff": "0e988520bedab39aa3f23f08f646c769bcdb6f9119ee298fd92b37127b226a36",
            "genbase.xml": "198e8a1d7070e9603119e02e626cedc589db7577339b307b06f5192047b69eb9",
        },
        source=_MULAN,
        citation="Diplaris, Tsoumakas, Mitkas and Vlahavas, Protein classification with multiple algorithms, PCI 2005",
    ),
    Entry(
        name="medical",
        domain="text",
        n_train=333,
        n_test=645,
        n_features=1449,
        n_labels=45,
        files={
            "medical-train.arff": "c764f45756ab1c553b8b4eaaf5605a5610a43bbbcf37492d0f1a12bf9c9e2244",
            "medical-test.arff": "6be472e75a6c0b0916187f343a398011b1b26f8f0ddc682c575312ad3532f6c4",
            "medical.xml": "51fa9d5c09e48caff3f0a0c75db1c9aa85944f8e35451f3ad8bd56fc422286ce",
        },
        source=_MULAN,
        citation=(
            "Pestian et al., A shared task involving multi-label classification of clinical free text, BioNLP 2007"
        ),
    ),
    Entry(
        name="emotions",
        domain="music",
        n_train=391,
        n_test=202,
        n_features=72,
        n_labels=6,
        files={
            "emotions-train.arff": "bbe704106c79bb8fb99c1d1d2e9bde081d6a2daeb01f100862f11fd91a3c1f98",
            "emotions-test.arff": "f13d4b746b7b5c8eb484bd751d6ac463d4560dff998a93516a5c1fe35daf6c8f",
            "emotions.xml": "dbce8e6ccbbb2fcbfd9e9edbb230d7ed12692c6e13f59fdbc0161fa9b6cf2dc0",
        },
        source=_MULAN,
        citation=(
            "Trohidis, Tsoumakas, Kalliris and Vlahavas, Multi-label classification of music into emotions, ISMIR 2008"
        ),
    ),
    Entry(
        name="slashdot",
        domain="text",
        n_train=2338,
        n_test=1444,
        n_features=1079,
        n_labels=22,
        files={
            "slashdot-train.arff": "58891057711fd1f7ef0e99d82f0a72539ce74ee29aec0db76f09c820757e76d3",
            "slashdot-test.arff": "217bf754350e55d6d282669c5b4491c875857fb60aa104d233e0c149c819e73b",
            "slashdot.xml": "4ccb5ed0abdca811c77b6cf15c1b6ead4b5bd811cfc325207ec69fd122972221",
        },
        source=_MATLAB,
        citation="Read, Pfahringer, Holmes and Frank, Classifier chains for multi-label classification, ECML PKDD 2009",
    ),
    Entry(
        name="yahoo-arts",
        domain="web pages",
        n_train=2000,
        n_test=3000,
        n_features=462,
        n_labels=26,
        files={
            "yahoo-arts-train.arff": "1b686ed9694587d7e8cd76b5e4065f40088654cdce6a6bb163ec7b3112a49442",
            "yahoo-arts-test.arff": "82fb96c498ba05087510ca131ece09e616a6f41e3765402a03504b77d5dbb655",
            "yahoo-arts.xml": "8562adcf17f1ec45694e4c963a47c65df8b1fab9022e75dff35024b8e55c6d2d",
        },
        source=_MATLAB,
        citation="Ueda and Saito, Parametric mixture models for multi-labeled text, NIPS 2002",
    ),
    Entry(
        name="yahoo-education",
        domain="web pages",
        n_train=2000,
        n_test=3000,
        n_features=550,
        n_labels=33,
        files={
            "yahoo-education-train.arff": "3c3795119d7c48b69bba157a948b3eb30860eb21c2fa7f343f76144b5adc8133",
            "yahoo-education-test.arff": "e42eaab3d2a9b4d2018ac9784bae06e8266f87c6ed9aa251196d85c4df57a661",
            "yahoo-education.xml": "c66eb8c348177fd84c9eb21d4778c9f763737b1098357f911a7e42f892a8622f",
        },
        source=_MATLAB,
        citation="Ueda and Saito, Parametric mixture models for multi-labeled text, NIPS 2002",
    ),
    Entry(
        name="yahoo-recreation",
        domain="web pages",
        n_train=2000,
        n_test=3000,
        n_features=606,
        n_labels=22,
        files={
            "yahoo-recreation-train.arff": "42211c4ec675016e0f5b2d1c54cbad00b7d205df3a68a7a372c3a5bb251ffa46",
            "yahoo-recreation-test.arff": "c3c8f607456e32f449c1e987802b5b993a18b1c27de37bb988ae83353addef2a",
            "yahoo-recreation.xml": "4ccb5ed0abdca811c77b6cf15c1b6ead4b5bd811cfc325207ec69fd122972221",
        },
        source=_MATLAB,
        citation="Ueda and Saito, Parametric mixture models for multi-labeled text, NIPS 2002",
    ),
    Entry(
        name="yahoo-science",
        domain="web pages",
        n_train=2000,
        n_test=3000,
        n_features=743,
        n_labels=40,
        files={
            "yahoo-science-train.arff": "c52e461e86dd2994369c150a68a004b20062946e5edb71f1e8ac5d18a9c31b98",
            "yahoo-science-test.arff": "38b842165f61a75de366e94b5d659a32976b96cc70bd4c1be6e99077b4249a8d",
            "yahoo-science.xml": "917542564e0f984817d6ef526ac01580bbf04f9650f2fbdbb05f393f531cdded",
        },
        source=_MATLAB,
        citation="Ueda and Saito, Parametric mixture models for multi-labeled text, NIPS 2002",
    ),
)
REGISTRY = {entry.name: entry for entry in _ENTRIES}
