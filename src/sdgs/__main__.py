"""`python -m sdgs` is the `sdgs` command."""

from sdgs.cli import main

main()
