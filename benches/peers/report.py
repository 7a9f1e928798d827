"""Results: all of them as JSON, and medians with their range as a Markdown table."""

import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import systems

ROOT = Path(__file__).resolve().parents[2]

# Heading, what the cell is made of, digits.
COLUMNS = (
    ("start s", ("start_s",), 1),
    ("restart s", ("restart_s",), 1),
    ("write p50 / p95 ms", ("write_p50_ms", "write_p95_ms"), 1),
    ("kept of 500", ("written",), 0),
    ("recall p50 / p95 ms", ("recall_p50_ms", "recall_p95_ms"), 1),
    ("hit@1 / hit@5 of 50", ("hit_at_1", "hit_at_5"), 0),
    ("8 x 25 writes/s", ("parallel_writes_per_s",), 0),
    ("p95 ms", ("parallel_p95_ms",), 0),
    ("acknowledged / kept of 200", ("acknowledged", "kept"), 0),
    ("searchable at ack / tried", ("searchable", "searchable_of"), 0),
    ("RSS / helpers MB", ("rss_mb", "helpers_mb"), 0),
)


def write(out: Path, runs: dict, endpoint_mb: float, python: str) -> None:
    """Writes `peers.json` and `peers.md`."""
    about = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": command(),
        "commit": commit(),
        "machine": machine(),
        "python": python,
        "endpoint_rss_mb": round(endpoint_mb),
        "runs": max(map(len, runs.values())),
    }
    (out / "peers.json").write_text(json.dumps({"about": about, "systems": runs}, indent=2) + "\n")
    (out / "peers.md").write_text(markdown(about, runs))


def summary(result: dict) -> str:
    """Returns one run as one line."""
    if result["troubles"]:
        return "; ".join(result["troubles"])
    return (
        f"write p95 {result['write_p95_ms']:.1f} ms, recall p95 {result['recall_p95_ms']:.1f} ms, "
        f"hit@1 {result['hit_at_1']}/{result['questions']}, "
        f"{result['parallel_writes_per_s']:.0f} parallel writes/s"
    )


def markdown(about: dict, runs: dict) -> str:
    """Returns the table, with the environment of the runs and the failures."""
    headings = ["system", "version", *(heading for heading, _, _ in COLUMNS)]
    lines = [
        "# Comparison of memory services",
        "",
        *(f"- {name.replace('_', ' ')}: {value}" for name, value in about.items()),
        "",
        "Each figure is the median of the runs, with the lowest and the highest in parentheses.",
        "benches/README.md describes the protocol and the configuration of each system.",
        "",
        row(headings),
        row(["---"] * len(headings)),
        *(row([systems.ALL[name].title, *cells(results)]) for name, results in runs.items()),
        "",
        *failures(runs),
    ]
    return "\n".join(lines).rstrip() + "\n"


def cells(results: list[dict]) -> list[str]:
    """A system's version and figures, from the runs that have them."""
    versions = sorted({result["version"] for result in results if "version" in result})
    figures = [
        " / ".join(spread([r[key] for r in results if key in r], digits) for key in keys)
        for _, keys, digits in COLUMNS
    ]
    return [", ".join(versions), *figures]


def spread(values: list[float], digits: int) -> str:
    """`median (lowest-highest)`, or just the one value there is."""
    if not values:
        return "-"
    median, low, high = (f"{v:.{digits}f}" for v in (statistics.median(values), min(values), max(values)))
    return median if low == high else f"{median} ({low}-{high})"


def failures(runs: dict) -> list[str]:
    """Returns the failures, one line each."""
    return [
        f"- {systems.ALL[name].title}, run {number}: {trouble}"
        for name, results in runs.items()
        for number, result in enumerate(results, 1)
        for trouble in troubles(result)
    ]


def troubles(result: dict) -> list[str]:
    """Returns failures, rejected notes, and notes that were lost by a restart."""
    found = list(result["troubles"])
    held, after = result.get("held"), result.get("held_after_restart")
    if None not in (held, after) and held != after:
        found.append(f"had {held} notes before the restart and {after} after it")
    return found


def row(values: list[str]) -> str:
    return f"| {' | '.join(values)} |"


def command() -> str:
    """Returns the command that measures the figures."""
    return os.environ.get("BENCH_COMMAND") or " ".join(["benches/peers/run", *sys.argv[1:]])


def commit() -> str:
    """The commit that was measured, and whether files differ from it."""
    answer = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
    )
    return answer.stdout.strip() or "unknown"


def machine() -> str:
    """Processor, cores, memory and system."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {total:.0f} GiB, Linux {platform.release()}"
