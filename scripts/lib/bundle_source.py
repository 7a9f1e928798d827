"""The source code that the notes in tests/data/bundles/gunicorn are about. It is never run."""

import tempfile
from pathlib import Path

import cache
import wheels

PACKAGE, VERSION = "gunicorn", "23.0.0"


def install(root: Path) -> str:
    """Brings the package's files into the cache. meta.json of the set names its directory `source`."""
    place = root / "bundle-sources" / f"{PACKAGE}-{VERSION}"
    cache.bring(place, {PACKAGE: wheels.digest(wheels.requirements("bundle-source"))}, fetch)
    return f"{PACKAGE} {VERSION} for the tests in {place}"


def fetch(stage: Path) -> None:
    """Unpacks the package itself, without the metadata of its wheel."""
    with tempfile.TemporaryDirectory(prefix=".work-", dir=stage.parent) as folder:
        wheel = wheels.download("bundle-source", Path(folder))
        wheels.extract(wheel, f"{PACKAGE}/", stage / "source" / PACKAGE)
