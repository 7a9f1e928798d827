"""Results of the conformance suite, compared with the expected ones."""

import json
import re
from pathlib import Path

# Scenario -> its checks, as the suite writes them.
Checks = dict[str, list[dict]]

# A check of ours: the scenario ran to its end.
RAN = "ran"
# Checks of every scenario, even of one that does not apply: it ends, and all messages are valid.
ALWAYS = (RAN, "wire-schema-valid")

RESULT = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[-\d]+Z")


def scenarios(listed: str) -> dict[str, bool]:
    """Reads the suite's list of a requirement set: server scenario -> whether it is required."""
    _, _, server = listed.partition("Server scenarios")
    server, _, _ = server.partition("Client scenarios")
    required = re.findall(r"^  - (\S+)$", server, re.MULTILINE)
    if not required:
        raise SystemExit(f"conformance: no scenarios in the suite's list, which reads:\n{listed[:2000]}")
    others = re.findall(r"^    - (\S+) \[server\]$", listed, re.MULTILINE)
    return {**dict.fromkeys(required, True), **dict.fromkeys(others, False)}


def collect(place: Path) -> Checks:
    """Reads the results that a run wrote below `place`."""
    found = {}
    for file in place.glob("*/checks.json"):
        name = RESULT.fullmatch(file.parent.name)
        found[name["scenario"]] = json.loads(file.read_text())
    if not found:
        raise SystemExit(f"conformance: the suite wrote no results:\n{(place / 'log').read_text()[-2000:]}")
    return found


def add_missing(outcome: Checks, known: dict[str, bool]) -> None:
    """Adds a failure for each scenario without results, which ended early."""
    for name in known.keys() - outcome.keys():
        outcome[name] = [{"id": RAN, "status": "FAILURE", "errorMessage": "the scenario ended without results"}]


def expectations(file: Path) -> set[str]:
    """Returns the entries `scenario` and `scenario:check` of a file in the suite's own format."""
    return set(re.findall(r"^  - (\S+)", file.read_text(), re.MULTILINE))


def is_failure(check: dict) -> bool:
    """Returns whether a check failed. Warnings count: the protocol says SHOULD there."""
    return check["status"] in ("FAILURE", "WARNING")


def is_expected(scenario: str, check: dict, expected: set[str]) -> bool:
    whole = scenario in expected and check["id"] not in ALWAYS
    return whole or f"{scenario}:{check['id']}" in expected


def surprises(outcomes: dict[str, Checks], expected: set[str]) -> list[str]:
    """Returns unexpected failures, and expected failures that passed in every revision."""
    found = []
    open_entries = set(expected)
    for revision, outcome in outcomes.items():
        for scenario, checks in sorted(outcome.items()):
            for check in filter(is_failure, checks):
                open_entries -= {scenario, f"{scenario}:{check['id']}"}
                if not is_expected(scenario, check, expected):
                    message = check.get("errorMessage", "no message")
                    found.append(f"FAILED {revision} {scenario}:{check['id']}: {message}")
    passing = [f"PASSES, though it is expected to fail: {entry}" for entry in sorted(open_entries)]
    return found + passing


def table(
    outcomes: dict[str, Checks], required: dict[str, dict[str, bool]], expected: set[str]
) -> str:
    """Returns passed and failed checks as a table: a line per scenario, a column per revision."""
    names = list(dict.fromkeys(name for known in required.values() for name in known))
    names.sort(key=lambda name: not any(known.get(name) for known in required.values()))
    rows = [("scenario", list(outcomes))]
    for name in names:
        scored = any(known.get(name) for known in required.values())
        cells = [cell(name, outcome.get(name), expected) for outcome in outcomes.values()]
        rows.append((name if scored else f"{name} (not scored)", cells))
    return "\n".join(
        f"  {name:<60}" + "".join(f"{text:<26}" for text in cells).rstrip() for name, cells in rows
    )


def cell(scenario: str, checks: "list[dict] | None", expected: set[str]) -> str:
    """Summarizes one run of a scenario in a few words."""
    if checks is None:
        return "-"
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    failed = list(filter(is_failure, checks))
    unexpected = [check for check in failed if not is_expected(scenario, check, expected)]
    if unexpected:
        return f"{passed} passed, {len(failed)} FAILED"
    if scenario in expected:
        return "doesn't apply"
    if failed:
        return f"{passed} passed, {len(failed)} don't apply"
    return f"{passed} passed" if passed else "skipped"


def summary(revision: str, outcome: Checks, known: dict[str, bool], expected: set[str]) -> str:
    """Counts the required scenarios of a revision that pass, pass in part, do not apply, or fail."""
    scored = [name for name, is_scored in known.items() if is_scored]
    clean = [name for name in scored if not any(map(is_failure, outcome[name]))]
    apart = [name for name in scored if name in expected]
    partly = [
        name
        for name in set(scored) - set(clean) - set(apart)
        if all(is_expected(name, check, expected) for check in filter(is_failure, outcome[name]))
    ]
    failed = len(scored) - len(clean) - len(apart) - len(partly)
    return (
        f"  {revision}: {len(clean)} of {len(scored)} required scenarios pass, "
        f"{len(partly)} in part, {len(apart)} don't apply, {failed} fail"
    )
