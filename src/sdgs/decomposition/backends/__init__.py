"""The alternation for dense, sparse and array API data, and the threads it runs on."""
