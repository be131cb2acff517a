"""The paper's data sets: where they are and what they should contain."""
