"""The threats of SECURITY.md, each with the tests that cover it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "SECURITY.md"
# The part of the document that names tests.
PART = "## Threats and mitigations"
TESTS_COLUMN = "tests"

QUOTED = re.compile(r"`([^`]+)`")
PARENTHESES = re.compile(r"\([^()]*\)")
TEST_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")
PATH = re.compile(r"[\w.-]+(/[\w.-]+)+")
# Tests named in prose are told from settings by their length.
MIN_UNDERSCORES_IN_PROSE = 3

# A test attribute, other attributes and comments, and the function.
DEFINED = re.compile(
    r"#\[(?:\w+::)*test(?:\([^\]]*\))?\]\s*((?:#\[[^\]]*\]\s*|//[^\n]*\s*)*)(?:pub )?(?:async )?fn (\w+)"
)


@dataclass
class Threat:
    """A threat: its section, what an attacker tries, and names of tests."""

    section: str
    title: str
    tests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def read(document: Path = DOCUMENT) -> list[Threat]:
    """Returns the threats of the document. Their `errors` name tests and paths that do not exist."""
    defined = defined_tests([ROOT / name for name in ("crates", "connectors", "tests", "benches")])
    return [resolved(*row, defined) for row in rows(document.read_text())]


def rows(text: str):
    """Yields the section, title, quoted test names and paths of each threat."""
    part = text.split(f"\n{PART}\n")[1].split("\n## ")[0]
    for section in part.split("\n### ")[1:]:
        name, body = section.split("\n", 1)
        yield from table_rows(name, body)
        # A subsection only explains rows of the tables.
        yield from list_items(name, body.split("\n#### ")[0])


def table_rows(section: str, body: str):
    """Yields the rows of tables whose last column has tests. A path in parentheses is only a place."""
    lines = [line.strip("| ").split(" | ") for line in body.splitlines() if line.startswith("|")]
    for cells in lines:
        if len(cells) < 3 or cells[-1] == TESTS_COLUMN or set(cells[0]) <= {"-"}:
            continue
        places = [path for path in QUOTED.findall(cells[-1]) if PATH.fullmatch(path)]
        stated = QUOTED.findall(PARENTHESES.sub("", cells[-1]))
        yield section, cells[0], stated, places


def list_items(section: str, body: str):
    """Yields the list items with a bold title. They name tests in their sentences."""
    for item in re.findall(r"^- \*\*(.+?)\.?\*\*(.*?)(?=^\S|\n\n|\Z)", body, re.M | re.S):
        quoted = QUOTED.findall(item[1])
        stated = [name for name in quoted if name.count("_") >= MIN_UNDERSCORES_IN_PROSE]
        yield section, item[0], stated, [path for path in quoted if PATH.fullmatch(path)]


def resolved(section: str, title: str, stated: list, places: list, defined: dict) -> Threat:
    """Returns the threat with the tests that it states by name, or by their file or directory."""
    threat = Threat(section, title)
    threat.errors = [f"{path} does not exist" for path in places if not (ROOT / path).exists()]
    known = set().union(*defined.values())
    for word in stated:
        if TEST_NAME.fullmatch(word):
            threat.tests.append(word)
            if word not in known:
                threat.errors.append(f"there is no test {word}")
        elif PATH.fullmatch(word):
            own = tests_below(ROOT / word, defined)
            threat.tests += own
            if not own:
                threat.errors.append(f"{word} has no test")
    if not threat.tests:
        threat.errors.append("it names no test")
    return threat


def tests_below(path: Path, defined: dict) -> list[str]:
    """Returns the tests of a file or directory."""
    own = [tests for file, tests in defined.items() if file == path or path in file.parents]
    return sorted(set().union(*own))


def defined_tests(directories: list[Path]) -> dict[Path, set[str]]:
    """Returns the names of the tests that each Rust file defines, without ignored ones."""
    files = [file for directory in directories for file in directory.rglob("*.rs")]
    return {file: set(test_names(file.read_text())) for file in files}


def test_names(source: str):
    """Yields the names of the tests in a source file, without ignored ones."""
    for attributes, name in DEFINED.findall(source):
        if "#[ignore" not in attributes:
            yield name
