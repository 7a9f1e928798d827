"""`libonnxruntime.so` of the wheel `onnxruntime`."""

import platform
from pathlib import Path

import cache
import wheels

VERSION = "1.31.0"


def install(root: Path) -> str:
    """Brings the library into the cache. Returns its version and path."""
    stamp = {
        "onnxruntime": VERSION,
        "requirements": wheels.digest(wheels.requirements("onnxruntime")),
    }
    place = root / "onnxruntime"
    cache.bring(place, stamp, unpack)
    return f"ONNX runtime {VERSION} in {place}"


def unpack(stage: Path) -> None:
    """Extracts the library from the wheel. The library is the same in the wheels of all Pythons."""
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
