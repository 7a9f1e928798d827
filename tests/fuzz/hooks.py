"""Hooks of schemathesis for rules of the service that no schema can express. README.md has the reasons."""

import json
import os
import urllib.request
import uuid
from collections import Counter
from datetime import datetime, timedelta, timezone

import schemathesis
from hypothesis import strategies as st

URL = os.environ["FUZZ_URL"]
TOKEN = os.environ["FUZZ_TOKEN"]
REPOSITORY = os.environ["FUZZ_REPOSITORY"]
# A short run tests the maximum lengths of short texts and lists only. For each parameter of an
# operation, it sends at most MOST_OF_A_KIND requests of each scenario.
IS_SHORT = os.environ["FUZZ_SHORT"] == "1"
LONGEST = 300 if IS_SHORT else 1_000_000
MOST_ITEMS = 64 if IS_SHORT else 1_000
MOST_OF_A_KIND = 1
ASKED = Counter()
# No process listens there, so no request leaves this machine.
NOWHERE = "https://127.0.0.1:1/nobody/nothing.git"

WORD = st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True)
NOW = datetime.now(timezone.utc)
DAYS_AHEAD = st.integers(min_value=2, max_value=3_600).map(lambda days: NOW + timedelta(days=days))

# Generators for the formats in the document, which stand for rules that JSON Schema can't express.
OWN_FORMATS = {
    "web-url": st.builds("https://example.org/{}?{}".format, WORD, WORD),
    "relative-path": st.lists(WORD, min_size=1, max_size=5).map("/".join),
    "glob": st.sampled_from(["**", "*.rs", "src/**/*.{py,rb}", "docs/[a-c]?.md"]),
    "language": st.sampled_from(["ruby", "golang", "c++", ".rs", "ts", "Markdown"]),
    "absolute-path": st.lists(WORD, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts)),
    "git-ref": st.sampled_from(["main", "v1.2.3", "feature/x", "0123abcd"]),
    "repository-part": WORD,
    "document-source": WORD,
    "repository-location": st.sampled_from([REPOSITORY, NOWHERE]),
    "command-time": st.integers(min_value=1, max_value=60).map("PT{}M".format),
    "expiry-date": st.one_of(DAYS_AHEAD.map(lambda at: at.date().isoformat()), DAYS_AHEAD.map(datetime.isoformat)),
}
for name, texts in OWN_FORMATS.items():
    schemathesis.openapi.format(name, texts)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Removes large maximum lengths, which would take too long to test."""
    for schema in schemas(raw_schema):
        if schema.get("format") in OWN_FORMATS:
            # The search for a text of this format with the maximum length would not end.
            schema.pop("maxLength", None)
        elif schema.get("maxLength", 0) > LONGEST:
            del schema["maxLength"]
        elif schema.get("maxItems", 0) > MOST_ITEMS:
            del schema["maxItems"]


def schemas(value):
    """Yields every schema of the document."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from schemas(part)


@schemathesis.hook
def filter_case(context, case):
    """Drops similar requests of the coverage phase from a short run."""
    phase = case.meta.phase
    if not IS_SHORT or phase.name.value != "coverage":
        return True
    data = phase.data
    question = (case.method, case.path, data.scenario, data.parameter, data.location if data.parameter else None)
    ASKED[question] += 1
    return ASKED[question] <= MOST_OF_A_KIND


@schemathesis.hook
def before_call(context, case, kwargs):
    """Corrects valid requests by the rules, and replaces requests that would end the run."""
    positive = case.meta is None or case.meta.generation.mode.is_positive
    rule = RULES.get(f"{case.method} {case.path}")
    if rule and positive:
        rule(case)
    guard = GUARDS.get(f"{case.method} {case.path}")
    if guard:
        guard(case)


def one_name(case):
    """Keeps one of the parameters: in OpenAPI, parameters can't exclude each other."""
    named = [name for name in ("id", "title", "url") if name in case.query]
    for name in named[1:]:
        del case.query[name]
    if not named:
        case.query["title"] = "Deployment"


def lines_in_order(case):
    """Sorts the first and the last line of a citation."""
    citations = case.body.get("citations") if isinstance(case.body, dict) else None
    for citation in citations or []:
        start, end = citation.get("line_start"), citation.get("line_end")
        if end is not None:
            citation["line_start"], citation["line_end"] = min(start or end, end), max(start or end, end)


def real_grant(case):
    """Replaces about half of the grants by a real one, since no generated grant is valid."""
    if isinstance(case.body, dict) and len(case.body) % 2:
        made = post("/tokens", {"name": "fuzz", "scopes": ["memory:read"]})
        case.body = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "subject_token": made["token"],
        }


def spare_project(case):
    """Replaces the project that other requests need by a new one."""
    if str(case.path_parameters.get("key", "")).lower() == "fuzz":
        case.path_parameters["key"] = post("/projects", {"key": fresh()})["key"]


def spare_team(case):
    """Replaces the team that other requests need by a new one."""
    if str(case.path_parameters.get("team", "")).lower() == "fuzzers":
        case.path_parameters["team"] = post("/teams", {"key": fresh()})["key"]


def spare_token(case):
    """Replaces a token that the run itself uses by a new one."""
    if str(case.path_parameters.get("id", "")).lower() in own_tokens():
        made = post("/tokens", {"name": "fuzz", "scopes": ["memory:read"]})
        case.path_parameters["id"] = made["id"]


def harmless_location(case):
    """Replaces other directories of this machine, and URLs of other machines."""
    location = case.body.get("location") if isinstance(case.body, dict) else None
    if isinstance(location, str) and location != REPOSITORY and location.strip().startswith("/"):
        case.body["location"] = REPOSITORY
    elif isinstance(location, str) and ("://" in location or "@" in location):
        case.body["location"] = NOWHERE


def spare_task(case):
    """Uses a new task: a task that lost its data can still be read, unlike a deleted resource."""
    task = {"external_id": fresh(), "title": "Spare"}
    post("/tasks/sync", {"project_key": "fuzz", "tasks": [task]})
    case.path_parameters["external_id"] = task["external_id"]


def ends_of_expiry(case):
    """Removes `expiry_decision` from requests for other tasks than `expiry`."""
    if isinstance(case.body, dict) and case.body.get("task") != "expiry":
        case.body.pop("expiry_decision", None)


def changes_alone(case):
    """Removes the source `change` from lists with other sources."""
    sources = case.body.get("sources") if isinstance(case.body, dict) else None
    if isinstance(sources, list) and "change" in sources and len(set(sources)) > 1:
        case.body["sources"] = [source for source in sources if source != "change"]


def whatever_it_was(case):
    """Sends `*` for the current version of a policy, which no schema can name."""
    if "If-Match" in (case.headers or {}):
        case.headers["If-Match"] = "*"


# Corrections for rules that JSON Schema can't express.
RULES = {
    "PUT /projects/{key}/policy": whatever_it_was,
    "GET /documents/lookup": one_name,
    "POST /save": lines_in_order,
    "PATCH /records/{id}": lines_in_order,
    "POST /search": changes_alone,
    "POST /auth/token": real_grant,
    "POST /projects/{key}/hygiene-runs": ends_of_expiry,
    "DELETE /tasks/{external_id}": spare_task,
}
# Replacements for requests that would end the run.
GUARDS = {
    "DELETE /projects/{key}": spare_project,
    "PUT /projects/{key}/policy": spare_project,
    "DELETE /teams/{team}": spare_team,
    "DELETE /tokens/{id}": spare_token,
    "POST /ingest/git": harmless_location,
}


def own_tokens():
    """Returns the ids of the tokens that the run uses."""
    return os.environ["FUZZ_OWN_TOKENS"].split(",")


def fresh():
    return f"spare-{uuid.uuid4().hex[:12]}"


def post(path, body):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers, method="POST")
    with OPENER.open(request) as response:
        return json.load(response)


# Without proxies: no proxy should see the token.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
