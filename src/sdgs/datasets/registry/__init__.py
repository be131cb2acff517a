"""The paper's eleven data sets: what they are, and their files on this machine."""
