"""Clients of the MCP server, and their schemas, for the tests of `client install`."""

from functools import partial
from pathlib import Path

import cache
import node_packages

PINS = Path(__file__).resolve().parent.parent.parent / "tests/clients"


def install(root: Path) -> str:
    """Brings `bin/node`, Claude Code and the schema of VS Code into the cache."""
    place = root / "clients"
    cache.bring(place, node_packages.stamp(PINS), partial(node_packages.fetch, PINS))
    return f"clients for the tests in {place}"
