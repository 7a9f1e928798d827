"""OpenAPI documents of vendors, with a mock server for them, for the tests of the connectors."""

from functools import partial
from pathlib import Path

import cache
import node_packages

PINS = Path(__file__).resolve().parent.parent.parent / "tests/vendors"


def install(root: Path) -> str:
    """Brings `bin/node`, the documents and the mock server into the cache."""
    place = root / "vendors"
    cache.bring(place, node_packages.stamp(PINS), partial(node_packages.fetch, PINS))
    return f"vendors' APIs for the tests in {place}"
