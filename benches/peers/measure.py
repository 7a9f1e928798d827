#!/usr/bin/env python3
"""Measures one system once and writes what it found as JSON; `run` starts one of these at a time."""

import contextlib
import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "lib"))

import notes  # noqa: E402
import systems  # noqa: E402

SEQUENTIAL = 500
CLIENTS, EACH = 8, 25
# Numbers of the first notes of the parallel phases.
PARALLEL_FROM, VISIBLE_FROM = SEQUENTIAL, SEQUENTIAL + CLIENTS * EACH
# Results asked for: what hit@5 looks at, and where a note must be that can be found at all.
WANTED, FAR = 5, 50
PHASE_SECONDS = 180


class TooSlow(Exception):
    """A phase took longer than it may."""


def main(name: str, setting_file: str, result_file: str) -> None:
    setting = json.loads(Path(setting_file).read_text())
    paths = {"place", "binary", "cache", "packages"}
    fields = {k: Path(v) if k in paths and v else v for k, v in setting.items()}
    result = measured(systems.ALL[name], systems.Setting(**fields))
    Path(result_file).write_text(json.dumps(result))
    sys.stdout.flush()
    # Without waiting for threads that a phase has left behind.
    os._exit(0)


def measured(system: systems.System, setting: systems.Setting) -> dict:
    """Every phase in turn; one that fails leaves its error, and the next ones go on."""
    result, running = {"troubles": []}, None
    with phase(result, "start"):
        running, result["start_s"] = timed(lambda: system.start(setting))
    if running is None:
        return result
    result["version"] = running.version()
    phases = {
        "sequential writes": sequential_writes,
        "recall": recalls,
        "parallel writes": parallel_writes,
        "searchable at acknowledgement": searchable,
        "memory": lambda running, result: result.update(running.memory()),
        "stop": stopped,
    }
    for name, work in phases.items():
        with phase(result, name):
            work(running, result)
    with phase(result, "restart"):
        again, result["restart_s"] = timed(lambda: system.start(setting))
        result["held_after_restart"] = again.count()
        again.stop()
    return result


@contextlib.contextmanager
def phase(result: dict, name: str):
    """Bounds a phase's time, and turns its failure into a line of the result."""

    def give_up(*_):
        raise TooSlow(f"not done within {PHASE_SECONDS} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PHASE_SECONDS)
    try:
        yield
    except Exception as error:
        traceback.print_exc()
        result["troubles"].append(f"{name}: {error or type(error).__name__}")
    finally:
        signal.alarm(0)


def sequential_writes(running, result: dict) -> None:
    """One client writes note after note."""
    client, outcomes = running.client(), []
    for number in range(SEQUENTIAL):
        try:
            outcomes.append(timed(lambda: client.write(notes.note(number)))[1])
        except systems.Refused as refusal:
            outcomes.append(refusal)
    client.close()
    seconds = succeeded(outcomes, "sequential writes", result)
    result |= {
        "write_p50_ms": percentile(seconds, 50),
        "write_p95_ms": percentile(seconds, 95),
        "written": len(seconds),
    }


def recalls(running, result: dict) -> None:
    """One client asks question after question, each naming an id."""
    client, seconds, ranks = running.client(), [], []
    for question, id in notes.questions(SEQUENTIAL):
        found, took = timed(lambda: client.search(question, WANTED))
        seconds.append(took)
        ranks.append(rank(found, id))
    client.close()
    result |= {
        "recall_p50_ms": percentile(seconds, 50),
        "recall_p95_ms": percentile(seconds, 95),
        "hit_at_1": sum(place == 1 for place in ranks),
        "hit_at_5": sum(place is not None for place in ranks),
        "questions": len(ranks),
    }


def parallel_writes(running, result: dict) -> None:
    """Clients write at the same time; afterwards the system must hold all that it acknowledged."""
    before = running.count()

    def write(client, number):
        return timed(lambda: client.write(notes.note(number)))[1]

    outcomes, wall = together(running, PARALLEL_FROM, write)
    seconds = succeeded(outcomes, "parallel writes", result)
    result |= {
        "parallel_writes_per_s": len(seconds) / wall,
        "parallel_p95_ms": percentile(seconds, 95),
        "acknowledged": len(seconds),
    }
    result["kept"] = running.count() - before


def searchable(running, result: dict) -> None:
    """Clients write at the same time, and each looks for every note as soon as it is acknowledged."""

    def write_and_find(client, number):
        text = notes.note(number)
        client.write(text)
        return rank(client.search(text, FAR), notes.identifier(number)) is not None

    outcomes, _ = together(running, VISIBLE_FROM, write_and_find)
    tried = succeeded(outcomes, "searchable at acknowledgement", result)
    result |= {"searchable": sum(tried), "searchable_of": len(tried)}


def stopped(running, result: dict) -> None:
    """Stops it, however well it can still count."""
    try:
        result["held"] = running.count()
    finally:
        running.stop()


def together(running, first: int, work) -> tuple[list, float]:
    """What `work(client, number)` answers or raises for each client's numbers, and the seconds for all."""
    barrier = threading.Barrier(CLIENTS + 1)

    def run(which: int) -> list:
        client, outcomes = running.client(), []
        barrier.wait()
        for number in range(first + which * EACH, first + (which + 1) * EACH):
            try:
                outcomes.append(work(client, number))
            except Exception as error:
                outcomes.append(error)
        client.close()
        return outcomes

    # Not as a context: that would wait for clients that hang when the phase is given up.
    pool = ThreadPoolExecutor(CLIENTS)
    futures = [pool.submit(run, which) for which in range(CLIENTS)]
    barrier.wait()
    outcomes, seconds = timed(lambda: [each for future in futures for each in future.result()])
    return outcomes, seconds


def succeeded(outcomes: list, what: str, result: dict) -> list:
    """The outcomes that are no errors; how many were is told, with the first one's words."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    if errors:
        result["troubles"].append(f"{what}: {len(errors)} of {len(outcomes)} failed: {errors[0]}")
    if len(errors) == len(outcomes):
        raise RuntimeError("none succeeded")
    return [outcome for outcome in outcomes if not isinstance(outcome, Exception)]


def timed(work) -> tuple:
    """What `work()` answers, and the seconds it took."""
    start = time.perf_counter()
    answer = work()
    return answer, time.perf_counter() - start


def rank(found: list[str], id: str) -> int | None:
    """The place, from 1, of the first text that holds the id."""
    return next((place for place, text in enumerate(found, 1) if id in text), None)


def percentile(seconds: list[float], percent: int) -> float:
    """The nearest-rank percentile, in milliseconds."""
    ordered = sorted(seconds)
    return 1e3 * ordered[math.ceil(percent / 100 * len(ordered)) - 1]


if __name__ == "__main__":
    main(*sys.argv[1:])
