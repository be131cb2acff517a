"""The result of a run: a table per target, and a folder per finding with its files and the command that repeats it."""

import shutil
from collections import Counter, defaultdict
from pathlib import Path

from fuzz.checks import CLEAN_ERROR, VALID

_MAX_EXAMPLES = 3  # of findings in the same place


class Summary:
    """Counts records, and stores findings in ``folder``."""

    def __init__(self, folder, seed=0):
        self.folder, self.seed = Path(folder), seed
        self.outcomes, self.slowest, self.largest = defaultdict(Counter), defaultdict(float), defaultdict(int)
        self.places = defaultdict(list)  # records of findings by target and place

    def add(self, record):
        """Take one record."""
        target = record["target"]
        self.outcomes[target][record["outcome"]] += 1
        self.slowest[target] = max(self.slowest[target], record["seconds"])
        self.largest[target] = max(self.largest[target], record["memory"])
        if record["outcome"] == "finding":
            same = self.places[target, record["place"]]
            same.append(record)
            if len(same) <= _MAX_EXAMPLES:
                self._store(record)

    def _store(self, record):
        folder = self.folder / f"{record['target']}-{record['case']}"
        if Path(record["files"]).is_dir():
            shutil.copytree(record["files"], folder, symlinks=True, dirs_exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "finding.txt").write_text(
            f"{record['message']}\n\nTo repeat it: {self.command(record)}\n\n{record['traceback']}", errors="replace"
        )

    def command(self, record):
        """The command that runs the case again."""
        seed = f" --seed {self.seed}" if self.seed else ""
        return f"make fuzz ARGS='--target {record['target']} --case {record['case']}{seed}'"

    @property
    def n_findings(self):
        return sum(map(len, self.places.values()))

    def text(self):
        """The table, with the slowest case and the one with the largest memory; and one entry per place of findings."""
        lines = [f"{'target':<22}{'cases':>8}{'valid':>8}{'errors':>8}{'findings':>9}{'CPU':>10}{'memory':>10}"]
        for target, count in self.outcomes.items():
            lines.append(
                f"{target:<22}{count.total():>8}{count[VALID]:>8}{count[CLEAN_ERROR]:>8}{count['finding']:>9}"
                f"{self.slowest[target]:>8.2f} s{self.largest[target] / 2**20:>6.0f} MiB"
            )
        for (target, place), records in sorted(self.places.items()):
            first = records[0]
            lines.append(
                f"\n{target}, {len(records)} cases: {place}\n  {first['message'][:300]}\n  {self.command(first)}"
            )
        if self.n_findings:
            lines.append(f"\n{self.n_findings} findings in {len(self.places)} places; files in {self.folder}")
        return "\n".join(lines) + "\n"
