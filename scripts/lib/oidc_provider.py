"""An OpenID Connect provider for the tests of the login flows, on its own Node."""

from functools import partial
from pathlib import Path

import cache
import node_packages

PINS = Path(__file__).resolve().parent.parent.parent / "tests/oidc"


def install(root: Path) -> str:
    """Brings `bin/node` and the provider's `node_modules` into the cache."""
    place = root / "oidc-provider"
    cache.bring(place, node_packages.stamp(PINS), partial(node_packages.fetch, PINS))
    return f"OpenID Connect provider for the tests in {place}"
