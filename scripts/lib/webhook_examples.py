"""Example webhook deliveries of GitHub, from its own library, for tests that parse them."""

import shutil
from pathlib import Path

import cache
import node_packages

PINS = Path(__file__).resolve().parent.parent.parent / "tests/webhooks"


def install(root: Path) -> str:
    """Brings the package's `node_modules` into the cache."""
    place = root / "webhook-examples"
    cache.bring(place, node_packages.stamp(PINS), fetch)
    return f"webhook examples for the tests in {place}"


def fetch(stage: Path) -> None:
    """Fetches the packages. Node is for npm only and is deleted."""
    node_packages.fetch(PINS, stage)
    shutil.rmtree(stage / "bin")
