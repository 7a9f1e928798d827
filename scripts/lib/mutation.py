"""Mutants: checks of the code, each with a replacement without the check.

All mutants are built into one program, and one of them is switched on when it runs. The environment
variable ISOLATION_MUTANT names it for Rust, and the setting `isolation.mutant` for PostgreSQL.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

SWITCH_PATH = "crates/domain/src/lib.rs"
SWITCH = """
/// Returns whether this mutant is switched on.
pub fn mutant(name: &str) -> bool {
    static ON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var("ISOLATION_MUTANT").ok()).as_deref() == Some(name)
}
"""


@dataclass(frozen=True)
class Mutant:
    """A check in a file, and its replacement.

    `code` is a part of the file with the check between `[[` and `]]`. It must occur exactly once.
    Its white space matches any other, and `...` the code before the next words in the same item.
    `replacement` contains CHECK, which stands for the check, and ON or SQL_ON, a condition in Rust
    or SQL that is true if the mutant is switched on.
    """

    name: str
    path: str
    code: str
    replacement: str


@dataclass(frozen=True)
class Edit:
    """Code to insert before and after a check. Checks of several edits may be nested."""

    start: int
    end: int
    before: str
    after: str


class Mismatch(Exception):
    """A mutant that can't be applied."""


def mutated_files(root: Path, mutants: list[Mutant]) -> tuple[dict[str, bytes], list[str]]:
    """Applies all mutants to the checkout at `root`.

    Returns the files that differ, by path, and a message for each mutant that can't be applied.
    """
    names = [mutant.name for mutant in mutants]
    errors = [f"{name}: the name is not unique" for name in set(names) if names.count(name) > 1]
    files = {SWITCH_PATH: (root / SWITCH_PATH).read_bytes() + SWITCH.encode()}
    descriptions = [json.loads(path.read_text()) for path in (root / ".sqlx").glob("query-*.json")]
    for path in dict.fromkeys(mutant.path for mutant in mutants):
        of_file = [mutant for mutant in mutants if mutant.path == path]
        if not (root / path).is_file():
            errors += [f"{mutant.name}: there is no file {path}" for mutant in of_file]
            continue
        text = (root / path).read_text()
        queries = [(text.find(query["query"]), query) for query in descriptions]
        queries = [(offset, query) for offset, query in queries if offset != -1]
        edits = []
        for mutant in of_file:
            try:
                edits.append(find_check(mutant, text, queries))
            except Mismatch as error:
                errors.append(f"{mutant.name}: {error}")
        files[path] = edited(text, edits).encode()
        files.update(edited_queries(edits, queries))
    return files, errors


def find_check(mutant: Mutant, text: str, queries: list[tuple[int, dict]]) -> Edit:
    """Finds the check of a mutant in the text of its file."""
    head, check, tail = re.fullmatch(r"(.*)\[\[(.*)\]\](.*)", mutant.code, re.DOTALL).groups()
    code = f"{pattern(head)}({pattern(check)}){pattern(tail)}"
    found = list(re.finditer(code, text, re.DOTALL))
    if len(found) != 1:
        raise Mismatch(f"{mutant.path} has {len(found)} matches, not one: {mutant.code}")
    start, end = found[0].span(1)
    is_query = any(at <= start < at + len(query["query"]) for at, query in queries)
    # Statements that are composed at run time are not in .sqlx.
    if "SQL_ON" in mutant.replacement and not is_query and "AssertSqlSafe" not in text:
        raise Mismatch(f".sqlx has no query of {mutant.path} with: {mutant.code}")
    sql_on = f"current_setting('isolation.mutant', true) = '{mutant.name}'"
    replacement = mutant.replacement.replace("SQL_ON", sql_on)
    replacement = re.sub(r"\bON\b", f'mc_domain::mutant("{mutant.name}")', replacement)
    before, after = replacement.split("CHECK")
    return Edit(start, end, before, after)


def pattern(code: str) -> str:
    """Returns a regular expression for a part of `Mutant.code`."""
    parts = re.split(r"(\s*\.\.\.\s*|\s+)", code)
    return "".join(map(part_pattern, parts))


def part_pattern(part: str) -> str:
    if part.strip() == "...":
        # An item ends with a brace at the start of a line.
        return r"(?:(?!\n}).)*?"
    return r"\s+" if part.isspace() else re.escape(part)


def edited(text: str, edits: list[Edit], offset: int = 0) -> str:
    """Returns a part of a file with its edits. The part begins at `offset` of the file."""
    inside = [edit for edit in edits if offset <= edit.start and edit.end <= offset + len(text)]
    # At one position, checks end before others start; the outer ones start first and end last.
    starts = sorted(inside, key=lambda edit: (edit.start, -edit.end))
    ends = sorted(reversed(starts), key=lambda edit: (edit.end, -edit.start))
    insertions = [(edit.end, edit.after) for edit in ends]
    insertions += [(edit.start, edit.before) for edit in starts]
    parts, position = [], 0
    for at, code in sorted(insertions, key=lambda insertion: insertion[0]):
        parts += [text[position : at - offset], code]
        position = at - offset
    return "".join([*parts, text[position:]])


def edited_queries(edits: list[Edit], queries: list[tuple[int, dict]]) -> dict[str, bytes]:
    """Returns files for .sqlx. Parameters and columns of a query stay the same."""
    files = {}
    for offset, description in queries:
        query = edited(description["query"], edits, offset)
        digest = hashlib.sha256(query.encode()).hexdigest()
        content = json.dumps({**description, "query": query, "hash": digest}, indent=2)
        if query != description["query"]:
            files[f".sqlx/query-{digest}.json"] = content.encode()
    return files
