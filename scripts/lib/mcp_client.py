"""The official MCP client for Python, with which tests call the server."""

from pathlib import Path

import cache
import wheels

REQUIREMENTS = Path(__file__).resolve().parent.parent.parent / "tests/mcp/requirements.txt"


def install(root: Path) -> str:
    """Brings the client's packages into a directory of the cache for PYTHONPATH."""
    place = root / "mcp-client"
    cache.bring(place, {"requirements": wheels.digest(REQUIREMENTS)}, fetch)
    return f"MCP client for the tests in {place}"


def fetch(stage: Path) -> None:
    """Fetches the packages that the requirements pin."""
    wheels.pip(
        "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        "--requirement", str(REQUIREMENTS), "--target", str(stage),
    )  # fmt: skip
