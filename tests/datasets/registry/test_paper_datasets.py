from sdgs.datasets import REGISTRY


def test_all_eleven_are_described():
    assert len(REGISTRY) == 11
    for name, entry in REGISTRY.items():
        assert {entry.file("train"), entry.file("test"), entry.file("xml")} == set(entry.files)
        assert all(len(checksum) == 64 for checksum in entry.files.values())
        assert entry.name == name
        assert entry.citation
        assert entry.source
