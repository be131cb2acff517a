import pytest


@pytest.fixture
def write_file(tmp_path):
    """A function that writes a file with this content, text or bytes, and returns its path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
