"""The estimators: they validate, orchestrate and delegate."""
