"""Writing and reading model files: which classes a file can hold."""
