"""Other vendors' APIs as their own OpenAPI documents have them, for the tests of the connectors."""

from functools import partial
from pathlib import Path

import cache
import node_packages

PINS = Path(__file__).resolve().parent.parent.parent / "tests/vendors"


def install(root: Path) -> str:
    """Brings `bin/node`, the documents and the server that goes by them into the cache."""
    place = root / "vendors"
    cache.bring(place, node_packages.stamp(PINS), partial(node_packages.fetch, PINS))
    return f"vendors' APIs for the tests in {place}"
