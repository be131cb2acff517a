"""Run the commands and the code of the README with the installed package: used by `make test-install`.

The first argument is a folder to work in, the others are the extras that were installed. The package must come from
the environment and not from the folder ``src`` of this project.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
# What an extra is for, where no command of the README uses it.
USES = {
    "parquet": (
        "import numpy, pyarrow, pyarrow.parquet, sdgs.datasets;"
        "pyarrow.parquet.write_table(pyarrow.table({'a': [1.0, 2.0], 'b': [0, 1]}), 'x.parquet');"
        "assert sdgs.datasets.read('x.parquet', labels=['b']).X.shape == (2, 1)"
    ),
    "excel": (
        "import openpyxl, sdgs.datasets; book = openpyxl.Workbook();"
        "[book.active.append(row) for row in (['a', 'b'], [1.0, 0], [2.5, 1])]; book.save('x.xlsx');"
        "assert sdgs.datasets.read('x.xlsx', labels=['b']).X.shape == (2, 1)"
    ),
    "export": (
        "import sdgs; from sdgs.datasets import make_label_subspaces; data = make_label_subspaces(random_state=0);"
        "model = sdgs.SDGSClassifier(2, alpha=0, gamma=None, random_state=0).fit(data.X, data.Y);"
        "assert sdgs.export(model, 'x.onnx', format='onnx').stat().st_size"
    ),
    "dask": "import dask.array, sdgs.distributed._dask_samples",
}


def main(folder: Path, extras: set[str]) -> None:
    """Run the blocks of the README, but for commands that need another extra."""
    os.chdir(folder)
    os.environ["MPLBACKEND"] = "agg"
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = run(sys.executable, "-c", "import sdgs; print(sdgs.__file__)")
    assert Path(sys.prefix).resolve() in Path(home.strip()).resolve().parents, f"{home} is not the installed package"
    print(run("sdgs", "--version").strip())
    blocks = re.findall(r"^```(python|sh)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    Path("readme.py").write_text("\n".join(text for language, text in blocks if language == "python"), "utf-8")
    print(run(sys.executable, "readme.py").splitlines()[0])
    commands = [line for language, text in blocks if language == "sh" for line in text.splitlines()]
    for line in commands:
        needs = {"report"} if line.startswith("sdgs report") else {"plot", "report"} if ".png" in line else extras
        if line.startswith("sdgs ") and (not needs or needs & extras):
            run("bash", "-c", line)
            print(f"ran: {line}")
    for extra in extras & USES.keys():
        run(sys.executable, "-c", USES[extra])


def run(*command: str) -> str:
    """The standard output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]), set(sys.argv[2:]))
