"""Stage 3: from samples and their codes to probabilities and label sets."""
