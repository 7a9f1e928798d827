"""`libonnxruntime.so`, out of the wheel `onnxruntime`."""

import platform
from pathlib import Path

import cache
import wheels

VERSION = "1.31.0"


def install(root: Path) -> str:
    """Brings the library into the cache; returns what is there and where."""
    stamp = {
        "onnxruntime": VERSION,
        "requirements": wheels.digest(wheels.requirements("onnxruntime")),
    }
    place = root / "onnxruntime"
    cache.bring(place, stamp, unpack)
    return f"ONNX runtime {VERSION} in {place}"


def unpack(stage: Path) -> None:
    """Takes the library out of the wheel. It is the same for every Python, so one wheel serves."""
    wheel = wheels.download(
        "onnxruntime",
        stage.parent,
        "--python-version=3.12",
        f"--platform=manylinux_2_28_{platform.machine()}",
    )
    wheels.extract(wheel, "onnxruntime/capi/libonnxruntime.so.", stage / "versioned")
    [library] = (stage / "versioned").iterdir()
    library.rename(stage / "libonnxruntime.so")
    (stage / "versioned").rmdir()
