"""Downloads of pinned wheels by pip, which checks their hashes."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from cache import SetupError

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"


def requirements(name: str) -> Path:
    """Returns the requirements file of a piece. Each line pins a version and its hashes."""
    return REQUIREMENTS / f"{name}.txt"


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pip(*arguments: str) -> None:
    """Runs pip. Raises a SetupError that says what to do if pip fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    try:
        subprocess.run(
            [*command, *arguments],
            check=True,
            text=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.CalledProcessError as failure:
        raise SetupError(advice(failure.stdout)) from failure


def advice(output: str) -> str:
    """Returns a message about a failure of pip with `output`, and what to do."""
    tail = "\n".join(f"    {line}" for line in output.strip().splitlines()[-6:])
    version = ".".join(map(str, sys.version_info[:2]))
    if "No module named pip" in output:
        step = "install pip for this Python (Debian and Ubuntu: apt-get install python3-pip)"
    elif "DO NOT MATCH THE HASHES" in output:
        step = "a download was damaged or changed: run `make setup` again"
    elif "No matching distribution" in output:
        step = (
            "check that pip can reach its index (`pip config list` shows its URL); if it can, "
            f"there is no pinned wheel for Python {version} on this machine: use Python 3.10 to "
            "3.14 on Linux, x86_64 or aarch64"
        )
    else:
        step = "check that pip can reach its index (`pip config list` shows its URL), then run again"
    return f"pip failed:\n{tail}\n  next step: {step}"


def download(name: str, into: Path, *options: str) -> Path:
    """Fetches the one wheel that `requirements/<name>.txt` pins."""
    pip(
        "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        "--requirement", str(requirements(name)), "--dest", str(into), *options,
    )  # fmt: skip
    [wheel] = into.glob("*.whl")
    return wheel


def extract(wheel: Path, prefix: str, into: Path) -> None:
    """Unpacks the members below `prefix` of a wheel, without the prefix."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.startswith(prefix) and not member.endswith("/"):
                target = into / member[len(prefix) :]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(member))
