#!/usr/bin/env python3
"""Produces every outcome of every tool with the official Python SDK, which validates each result.

    outcomes.py URL SCENARIO VALUES

SCENARIO is outcomes.json; VALUES is JSON: {"tokens": {"person": .., "agent": ..}, "project": .., "kept": {..}},
where `kept` are the values that the scenario calls `$name`. Prints one line for each step; exits with 1 if one fails.
typescript/outcomes.mjs does the same with the TypeScript SDK.
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

TIMEOUT_SECONDS = 60


def filled(value, kept: dict):
    """The value with what earlier steps kept in the place of `$name`."""
    if isinstance(value, dict):
        return {name: filled(each, kept) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, kept) for each in value]
    if isinstance(value, str) and value.startswith("$"):
        name, slash, rest = value[1:].partition("/")
        return f"{kept[name]}{slash}{rest}" if slash else kept[name]
    return value


def at(value, path: str):
    """What stands at `a.0.b`; None where nothing does."""
    for part in path.split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return None
    return value


def fault(step: dict, result, kept: dict) -> str | None:
    """What is wrong with a result, if anything."""
    text = "\n".join(part.text for part in result.content if part.type == "text")
    if not text.strip():
        return "has no text"
    if "error" in step:
        if not result.is_error:
            return f"was accepted: {text}"
        return None if step["error"] in text else f"does not name {step['error']!r}: {text}"
    if result.is_error:
        return text
    said = result.structured_content
    for path, expected in step.get("expect", {}).items():
        if at(said, path) != filled(expected, kept):
            return f"{path} is {at(said, path)!r}, not {filled(expected, kept)!r}: {said}"
    for path in step.get("has", []):
        if at(said, path) in (None, ""):
            return f"has no {path}: {said}"
    for name, path in step.get("keep", {}).items():
        kept[name] = at(said, path)
    return None


@contextlib.asynccontextmanager
async def connected(url: str, token: str, project: str):
    """A client with this token."""
    headers = {"Authorization": f"Bearer {token}", "X-Memory-Copilot-Project": project}
    # The service is on this machine: no proxy of the environment is to be asked for it.
    async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False) as http:
        connection = streamable_http_client(url, http_client=http)
        async with Client(connection, read_timeout_seconds=TIMEOUT_SECONDS) as client:
            yield client


async def outcome(client: Client, step: dict, kept: dict) -> str | None:
    """What is wrong with a step's outcome, if anything."""
    try:
        result = await client.call_tool(step["tool"], filled(step["arguments"], kept))
        return fault(step, result, kept)
    except Exception as error:  # noqa: BLE001 - the SDK's own check raises
        return f"{type(error).__name__}: {error}"


async def drive(url: str, steps: list, values: dict) -> int:
    kept, failed = dict(values["kept"]), 0
    async with contextlib.AsyncExitStack() as open_clients:
        clients = {
            name: await open_clients.enter_async_context(connected(url, token, values["project"]))
            for name, token in values["tokens"].items()
        }
        for client in clients.values():
            tools = (await client.list_tools()).tools
        for step in steps:
            wrong = await outcome(clients[step["as"]], step, kept)
            failed += wrong is not None
            name = f"{step['tool']}: {step['outcome']}"
            print(f"FAIL {name}: {wrong}" if wrong else f"ok   {name}", flush=True)
    save = next(tool for tool in tools if tool.name == "save")
    outcomes = set(save.output_schema["properties"]["outcome"]["enum"])
    tried = {step["expect"]["outcome"] for step in steps if "outcome" in step.get("expect", {})}
    missing = {tool.name for tool in tools} - {step["tool"] for step in steps}
    for name in sorted(missing) + sorted(outcomes - tried):
        failed += 1
        print(f"FAIL nothing tries {name}")
    return failed


def main() -> int:
    url, scenario, values = sys.argv[1:]
    failed = asyncio.run(drive(url, json.loads(Path(scenario).read_text()), json.loads(values)))
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
