"""What schemathesis has to know of the service that no schema says. README.md lists it with the reasons."""

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
# A short run tries the limits of short texts and lists only, and asks no more than this many things of
# one kind about one parameter of an operation.
IS_SHORT = os.environ["FUZZ_SHORT"] == "1"
LONGEST = 300 if IS_SHORT else 1_000_000
MOST_ITEMS = 64 if IS_SHORT else 1_000
MOST_OF_A_KIND = 1
ASKED = Counter()
# Nobody listens there, so that no request leaves this machine.
NOWHERE = "https://127.0.0.1:1/nobody/nothing.git"

WORD = st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True)
NOW = datetime.now(timezone.utc)
DAYS_AHEAD = st.integers(min_value=2, max_value=3_600).map(lambda days: NOW + timedelta(days=days))

# The formats of crates/api/src/openapi/schemas.rs: rules that JSON Schema can't say.
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
    "expiry-date": st.one_of(DAYS_AHEAD.map(lambda at: at.date().isoformat()), DAYS_AHEAD.map(datetime.isoformat)),
}
for name, texts in OWN_FORMATS.items():
    schemathesis.openapi.format(name, texts)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Bounds lengths, for the sake of the time it takes."""
    for schema in schemas(raw_schema):
        if schema.get("format") in OWN_FORMATS:
            # Never comes to an end: texts of these formats can't be made of a certain length.
            schema.pop("maxLength", None)
        elif schema.get("maxLength", 0) > LONGEST:
            del schema["maxLength"]
        elif schema.get("maxItems", 0) > MOST_ITEMS:
            del schema["maxItems"]


def schemas(value):
    """Every schema of the document."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from schemas(part)


@schemathesis.hook
def filter_case(context, case):
    """Leaves out, where a run is to be short, what the coverage phase asks again with other words."""
    phase = case.meta.phase
    if not IS_SHORT or phase.name.value != "coverage":
        return True
    data = phase.data
    question = (case.method, case.path, data.scenario, data.parameter, data.location if data.parameter else None)
    ASKED[question] += 1
    return ASKED[question] <= MOST_OF_A_KIND


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes what two fields say together fit, and turns what would end the run upon something else."""
    positive = case.meta is None or case.meta.generation.mode.is_positive
    rule = RULES.get(f"{case.method} {case.path}")
    if rule and positive:
        rule(case)
    guard = GUARDS.get(f"{case.method} {case.path}")
    if guard:
        guard(case)


def one_name(case):
    """A document is opened by exactly one of these; parameters can't exclude each other in OpenAPI."""
    named = [name for name in ("id", "title", "url") if name in case.query]
    for name in named[1:]:
        del case.query[name]
    if not named:
        case.query["title"] = "Deployment"


def lines_in_order(case):
    """The last line stands beside the first one and not before it."""
    for citation in case.body.get("citations", []) if isinstance(case.body, dict) else []:
        start, end = citation.get("line_start"), citation.get("line_end")
        if end is not None:
            citation["line_start"], citation["line_end"] = min(start or end, end), max(start or end, end)


def real_grant(case):
    """Of the grants that a schema can make up none is valid; every other one becomes a real one."""
    if isinstance(case.body, dict) and len(case.body) % 2:
        made = post("/tokens", {"name": "fuzz", "scopes": ["memory:read"]})
        case.body = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "subject_token": made["token"],
        }


def spare_project(case):
    """The project that all others need stays; one like it goes."""
    if str(case.path_parameters.get("key", "")).lower() == "fuzz":
        case.path_parameters["key"] = post("/projects", {"key": fresh()})["key"]


def spare_team(case):
    """The team that others need stays; one like it goes."""
    if str(case.path_parameters.get("team", "")).lower() == "fuzzers":
        case.path_parameters["team"] = post("/teams", {"key": fresh()})["key"]


def spare_token(case):
    """The token that the run itself uses stays; another one goes."""
    if str(case.path_parameters.get("id", "")).lower() in own_tokens():
        made = post("/tokens", {"name": "fuzz", "scopes": ["memory:read"]})
        case.path_parameters["id"] = made["id"]


def harmless_location(case):
    """What lies on this machine is not indexed, and nothing is fetched from others."""
    location = case.body.get("location") if isinstance(case.body, dict) else None
    if isinstance(location, str) and location != REPOSITORY and location.strip().startswith("/"):
        case.body["location"] = REPOSITORY
    elif isinstance(location, str) and ("://" in location or "@" in location):
        case.body["location"] = NOWHERE


def spare_task(case):
    """What was told of a task is forgotten, and the task can still be read. Nobody else asks for this one."""
    task = {"external_id": fresh(), "title": "Spare"}
    post("/tasks/sync", {"project_key": "fuzz", "tasks": [task]})
    case.path_parameters["external_id"] = task["external_id"]


def ends_of_expiry(case):
    """What is done with ends that are held is for the task that holds them."""
    if isinstance(case.body, dict) and case.body.get("task") != "expiry":
        case.body.pop("expiry_decision", None)


def changes_alone(case):
    """Changes are searched by themselves."""
    sources = case.body.get("sources") if isinstance(case.body, dict) else None
    if isinstance(sources, list) and "change" in sources and len(set(sources)) > 1:
        case.body["sources"] = [source for source in sources if source != "change"]


def whatever_it_was(case):
    """No schema can say which version is the present one."""
    if "If-Match" in (case.headers or {}):
        case.headers["If-Match"] = "*"


# Where JSON Schema can't say what is valid.
RULES = {
    "PUT /projects/{key}/policy": whatever_it_was,
    "GET /documents/lookup": one_name,
    "POST /save": lines_in_order,
    "POST /search": changes_alone,
    "POST /auth/token": real_grant,
    "POST /projects/{key}/hygiene-runs": ends_of_expiry,
    "DELETE /tasks/{external_id}": spare_task,
}
# What would take the ground from under the rest of the run.
GUARDS = {
    "DELETE /projects/{key}": spare_project,
    "PUT /projects/{key}/policy": spare_project,
    "DELETE /teams/{team}": spare_team,
    "DELETE /tokens/{id}": spare_token,
    "POST /ingest/git": harmless_location,
}


def own_tokens():
    """The ids of the tokens that let this run in."""
    return os.environ["FUZZ_OWN_TOKENS"].split(",")


def fresh():
    return f"spare-{uuid.uuid4().hex[:12]}"


def post(path, body):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers, method="POST")
    with OPENER.open(request) as response:
        return json.load(response)


# The service is on this machine, and its token is not for a proxy.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
