#!/usr/bin/env python3
"""Tests a running Memory Copilot with a third-party MCP client, the official Python SDK.

    drive.py --stdio BINARY [--arg ARG]... EXPECTATIONS
    drive.py --http URL --token-file FILE  EXPECTATIONS

EXPECTATIONS are options that name an indexed project and the expected results in it:

    --project KEY --symbol NAME --symbol-file PATH --describe TEXT --describe-file PATH
    --document TITLE

It tests session-based revisions of the protocol and the stateless revision 2026-07-28. It prints one
line for each check, and exits with 1 if one fails. It needs the packages of requirements.txt.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import traceback
import uuid
from pathlib import Path

import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

# Each listed tool has cases in this file, which outcomes.py sends.
CASES = json.loads(Path(__file__).with_name("outcomes.json").read_text())
SCHEMAS = ("bugfix", "migration", "refactor", "review")
HINTS = ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint")
ERAS = {"sessions": "legacy", "stateless": "2026-07-28"}
# How far down a description's file may stand; an exact symbol's must stand first.
DESCRIBED_WITHIN = 5
TIMEOUT_SECONDS = 60
# A list whose cursors lead round in a circle is to end a check, too.
PAGES_AT_MOST = 1_000


class Failed(Exception):
    """A check that found something else than it should."""


class Drive:
    """One connection, the expectations, and what earlier checks learnt for later ones."""

    def __init__(self, client: Client, expected: argparse.Namespace, era: str):
        self.client = client
        self.expected = expected
        self.era = era
        self.nonce = uuid.uuid4().hex[:12]
        self.record_id = ""
        self.handle = ""
        self.bundle_id = ""

    async def call(self, tool: str, **arguments):
        """The structured content of a call that must succeed."""
        result = await self.client.call_tool(tool, self.in_project(arguments))
        if result.is_error:
            raise Failed(f"{tool} answered with an error: {text_of(result)}")
        if not text_of(result).strip():
            raise Failed(f"{tool} has no text for clients that read no structured content")
        return result.structured_content

    async def refusal(self, tool: str, **arguments) -> str:
        """The text of a call that must be refused by a tool error."""
        # A bundle knows its project: feedback names none.
        arguments = arguments if tool == "feedback" else self.in_project(arguments)
        result = await self.client.call_tool(tool, arguments)
        if not result.is_error:
            raise Failed(f"{tool} accepted {shortened(arguments)}")
        return text_of(result)

    def in_project(self, arguments: dict) -> dict:
        return {"project_key": self.expected.project, **arguments}

    async def initialise(self):
        modern = self.client.protocol_version == ERAS["stateless"]
        expect(modern == (self.era == "stateless"), f"speaks {self.client.protocol_version}")
        if not modern:
            expect(self.client.server_info.name == "memory-copilot", f"{self.client.server_info}")
            expect("recall" in (self.client.instructions or ""), "the instructions name no tool")
        return self.client.protocol_version

    async def discover(self):
        if self.era != "stateless":
            return "sessions have none"
        found = await self.client.session.discover()
        expect(ERAS["stateless"] in found.supported_versions, f"{found.supported_versions}")
        return ", ".join(found.supported_versions)

    async def list_tools(self):
        tools = (await self.client.list_tools()).tools
        expect({tool.name for tool in tools} == {case["tool"] for case in CASES}, f"lists {[tool.name for tool in tools]}")
        for tool in tools:
            unset = [hint for hint in HINTS if getattr(tool.annotations, hint) is None]
            expect(not unset, f"{tool.name} leaves {unset} open")
            expect(tool.title and tool.description, f"{tool.name} has no title or description")
            expect(tool.output_schema, f"{tool.name} has no output schema")
        return f"{len(tools)} tools"

    async def save(self):
        # Words that no other run shares, so that it is neither a duplicate nor hard to find.
        saved = await self.call(
            "save",
            kind="fact",
            content=f"The {self.nonce} exporter must be drained before the {self.nonce} schema "
            f"changes, or its last {self.nonce} batch is lost.",
            tags=["drive"],
        )
        expect(saved["outcome"] == "created", f"{saved['outcome']}: {saved.get('reason')}")
        self.record_id = saved["id"]
        return self.record_id

    async def recall(self):
        bundle = await self.call("recall", query=f"drain the {self.nonce} exporter")
        found = [fact["handle"] for fact in bundle["facts"] if self.nonce in fact["text"]]
        expect(found, f"the saved fact is not in {shortened(bundle)}")
        self.handle = found[0]
        expect(bundle["confidence"] > 0, "the confidence is 0")
        self.bundle_id = bundle["bundle_id"]
        return f"confidence {bundle['confidence']:.2f}"

    async def recall_dotted(self):
        bundle = await self.call("memory.recall", query=f"{self.nonce} exporter")
        expect(any(self.nonce in fact["text"] for fact in bundle["facts"]), shortened(bundle))
        return "memory.recall"

    async def open_by_handle(self):
        opened = await self.call("open_doc", id=self.handle)
        expect(opened["id"] == self.record_id, f"{self.handle} is {shortened(opened)}")
        return self.handle

    async def feedback(self):
        done = await self.call_without_project("feedback", bundle_id=self.bundle_id, used=[self.record_id])
        expect(not done.get("unknown"), shortened(done))
        return str(done["recorded"])

    async def call_without_project(self, tool: str, **arguments):
        result = await self.client.call_tool(tool, arguments)
        expect(not result.is_error, f"{tool}: {text_of(result)}")
        return result.structured_content

    async def search(self):
        found = await self.call("search", query=f"{self.nonce} exporter", sources=["memory"], limit=3)
        expect(any(self.nonce in result["text"] for result in found["results"]), shortened(found))
        return f"{len(found['results'])} results"

    async def search_symbol(self):
        found = await self.call("search_code", query=self.expected.symbol)
        places = places_of(found)
        expect(places[:1] == [self.expected.symbol_file], f"first places: {places[:3]}")
        return places[0]

    async def search_description(self):
        found = await self.call("search_code", query=self.expected.describe)
        places = places_of(found)[:DESCRIBED_WITHIN]
        expect(self.expected.describe_file in places, f"first places: {places}")
        return f"place {places.index(self.expected.describe_file) + 1}"

    async def open_document(self):
        arguments = self.in_project({"title": self.expected.document})
        result = await self.client.call_tool("open_doc", arguments)
        expect(not result.is_error, text_of(result))
        expect(result.structured_content["content"], "the document is empty")
        links = [part.uri for part in result.content if part.type == "resource_link"]
        expect(links, "no resource link")
        read = await self.client.read_resource(links[0])
        expect(self.expected.document in read.contents[0].text, "the resource is another text")
        return links[0]

    async def link_issue(self):
        linked = await self.call("link_issue", issue_id=f"DRIVE-{self.nonce}", record_ids=[self.record_id])
        expect(linked["task"]["external_id"] == f"DRIVE-{self.nonce}", shortened(linked))
        expect(linked["records_linked"] == 1, shortened(linked))
        return linked["task"]["external_id"]

    async def resources(self):
        templates = (await self.client.list_resource_templates()).resource_templates
        expect(len(templates) == 2, f"{templates}")
        read = await self.client.read_resource(f"memory://records/{self.record_id}")
        expect(self.nonce in read.contents[0].text, read.contents[0].text)
        listed = await self.listed_resources()
        uris = [str(resource.uri) for resource in listed]
        expect(len(set(uris)) == len(uris), f"a resource is listed twice: {uris}")
        expect(f"memory://records/{self.record_id}" in uris, f"the record is not in {uris}")
        documents = [resource.name for resource in listed if "://docs/" in str(resource.uri)]
        expect(self.expected.document in documents, f"the document is not in {documents}")
        return f"{len(uris)} listed, {len(documents)} of them documents"

    async def listed_resources(self) -> list:
        listed, cursor = [], None
        for _ in range(PAGES_AT_MOST):
            page = await self.client.list_resources(cursor=cursor)
            listed.extend(page.resources)
            cursor = page.next_cursor
            if cursor is None:
                return listed
        raise Failed(f"the list has no end: {len(listed)} resources in {PAGES_AT_MOST} pages")

    async def prompts(self):
        listed = {prompt.name: prompt for prompt in (await self.client.list_prompts()).prompts}
        expect(set(SCHEMAS) <= set(listed), f"lists {list(listed)}")
        names = [argument.name for argument in listed["bugfix"].arguments]
        expect(names == ["task", "path", "symbols"], f"{names}")
        task = f"drain the {self.nonce} exporter"
        text = await self.prompt("bugfix", task=task)
        expect(task in text, f"the task is not in {shortened(text)}")
        expect(text.count(self.nonce) > 1, f"the saved fact is not in {shortened(text)}")
        expect("`code_diff`" in text, f"the form of the answer is not in {shortened(text)}")
        bare = await self.prompt("review")
        expect("call recall first" in bare, shortened(bare))
        for name, arguments, reason in [
            ("teleport", {}, "bugfix"),
            ("bugfix", {"tasks": "x"}, "task, path and symbols"),
            ("bugfix", {"path": "x" * 2_000}, "1024"),
        ]:
            try:
                await self.prompt(name, **arguments)
            except MCPError as error:
                expect(reason in str(error), f"{name} {shortened(arguments)}: {error}")
                continue
            raise Failed(f"{name} accepted {shortened(arguments)}")
        return f"{len(listed)} prompts"

    async def prompt(self, name: str, **arguments) -> str:
        got = await self.client.get_prompt(name, arguments)
        return "\n".join(message.content.text for message in got.messages)

    async def bad_calls(self):
        cases = [
            ("query", "search", {"query": 7}),
            ("query", "search", {}),
            ("query", "search_code", {"query": ""}),
            ("query", "recall", {"query": "nul \0 inside"}),
            ("query", "recall", {"query": "x" * 10_000_000}),
            ("limit", "search", {"query": "x", "limit": -1}),
            ("id", "forget", {"id": "no id"}),
            ("nonsense", "recall", {"nonsense": True}),
            ("content", "save", {"kind": "fact", "content": ""}),
            ("kind", "save", {"kind": "hunch", "content": "x"}),
            ("supersedes", "save", {"kind": "fact", "content": "x", "supersedes": "42"}),
            ("project_key", "recall", {"project_key": "../../etc"}),
            ("bundle_id", "feedback", {"bundle_id": "x", "used": []}),
            ("title", "open_doc", {"title": "no such document at all"}),
        ]
        for field, tool, arguments in cases:
            text = await self.refusal(tool, **arguments)
            expect(field in text, f"{tool} {shortened(arguments)} does not name {field}: {text}")
            expect(len(text) < 2_000, f"{tool}: an error of {len(text)} characters")
        text = await self.refusal("recall", query="x", project_key=f"absent-{self.nonce}")
        expect("absent" in text, f"an unknown project is not named: {text}")
        return f"{len(cases) + 1} refused"

    async def unknown_tool(self):
        try:
            result = await self.client.call_tool("teleport", {})
        except MCPError as error:
            expect("recall" in str(error), f"the error lists no tools: {error}")
            return "refused with the list"
        raise Failed(f"answered {shortened(result)}")

    async def still_there(self):
        await self.call("recall", query=f"{self.nonce} exporter")
        return "answers after the bad calls"

    def checks(self):
        return [
            self.initialise, self.discover, self.list_tools, self.save, self.recall,
            self.open_by_handle, self.recall_dotted, self.feedback, self.search, self.search_symbol,
            self.search_description, self.open_document, self.link_issue, self.resources,
            self.prompts, self.bad_calls, self.unknown_tool, self.still_there,
        ]  # fmt: skip


def expect(condition, why: str) -> None:
    if not condition:
        raise Failed(why)


def text_of(result) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def places_of(found: dict) -> list[str]:
    """The files of a search's results, best first, each once."""
    return list(dict.fromkeys(result["location"] for result in found["results"]))


def shortened(value) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}... ({len(text)} characters)"


@contextlib.asynccontextmanager
async def transport(options: argparse.Namespace):
    """The transport that the options ask for."""
    if options.stdio:
        # The child gets this process's whole environment, where its configuration may be. Lists of
        # resources take no arguments: what they are of is the server's default project.
        environment = {**os.environ, "MEMORY_COPILOT_PROJECT": options.project}
        server = StdioServerParameters(command=options.stdio, args=options.arg, env=environment)
        yield stdio_client(server)
        return
    token = Path(options.token_file).read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "X-Memory-Copilot-Project": options.project}
    # The service is on this machine: no proxy of the environment is to be asked for it.
    async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False) as http:
        yield streamable_http_client(options.http, http_client=http)


async def drive(options: argparse.Namespace, era: str) -> int:
    """Runs every check in one era; returns the number that failed."""
    failed = 0
    async with transport(options) as connection:
        client = Client(connection, mode=ERAS[era], read_timeout_seconds=TIMEOUT_SECONDS)
        async with client:
            for check in Drive(client, options, era).checks():
                name = f"{era}: {check.__name__.replace('_', ' ')}"
                try:
                    print(f"ok   {name}: {await check()}", flush=True)
                except Exception as error:  # noqa: BLE001 - one check's fault must not hide the next
                    failed += 1
                    print(f"FAIL {name}: {error or type(error).__name__}", flush=True)
                    if not isinstance(error, Failed):
                        traceback.print_exc()
    return failed


async def refuses_strangers(options: argparse.Namespace) -> int:
    """Over HTTP: no token, a wrong one, and a foreign origin are turned away."""
    token = Path(options.token_file).read_text().strip()
    cases = [
        ("no token", {}, 401),
        ("a wrong token", {"Authorization": "Bearer wrong"}, 401),
        (
            "a foreign origin",
            {"Authorization": f"Bearer {token}", "Origin": "https://evil.example"},
            403,
        ),
    ]
    failed = 0
    async with httpx2.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False) as http:
        for name, headers, status in cases:
            answer = await http.post(options.http, json={}, headers=headers)
            good = answer.status_code == status
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} http: {name}: {answer.status_code}", flush=True)
    return failed


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--stdio", metavar="BINARY", help="start this MCP server")
    way.add_argument("--http", metavar="URL", help="call the server at this address")
    parser.add_argument("--arg", action="append", default=[], help="an argument of BINARY; repeatable")
    parser.add_argument("--token-file", metavar="FILE", help="the bearer token for --http")
    for name in ("project", "symbol", "symbol-file", "describe", "describe-file", "document"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args(arguments)
    if options.http and not options.token_file:
        parser.error("--http needs --token-file")
    return options


async def main() -> int:
    options = parse(sys.argv[1:])
    failed = sum([await drive(options, era) for era in ERAS])
    if options.http:
        failed += await refuses_strangers(options)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
