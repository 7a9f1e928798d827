"""The official MCP conformance suite, on its own Node."""

from functools import partial
from pathlib import Path

import cache
import node_packages

PINS = Path(__file__).resolve().parent.parent.parent / "tests/conformance"


def install(root: Path) -> str:
    """Brings `bin/node` and the suite's `node_modules` into the cache."""
    place = root / "conformance"
    cache.bring(place, node_packages.stamp(PINS), partial(node_packages.fetch, PINS))
    return f"MCP conformance suite in {place}"
