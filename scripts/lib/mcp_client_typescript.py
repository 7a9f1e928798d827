"""The official MCP client for TypeScript on its own Node, with which tests call the server."""

from functools import partial
from pathlib import Path

import cache
import node_packages

PINS = Path(__file__).resolve().parent.parent.parent / "tests/mcp/typescript"


def install(root: Path) -> str:
    """Brings `bin/node` and the client's `node_modules` into the cache."""
    place = root / "mcp-client-typescript"
    cache.bring(place, node_packages.stamp(PINS), partial(node_packages.fetch, PINS))
    return f"MCP client in TypeScript for the tests in {place}"
