#!/usr/bin/env python3
"""Works in a workspace with the official Python SDK, in both phases.

    workspace.py (--stdio BINARY | --http URL) PROJECT TOKEN_FILE LOCATION

Fetches the repository at LOCATION, looks at it, locks a directory, edits text and JSON, uses git and
bash, and unlocks. It does so in a session, where the list of tools follows the phase, and in the
revision without sessions. Prints what it saw as JSON.
"""

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters, stdio_client, types
from mcp.client.streamable_http import streamable_http_client

TOOLSETS = "rag,files"
TIMEOUT_SECONDS = 120


class Session:
    """One client, and what it received."""

    def __init__(self, client: Client, is_stateless: bool):
        self.client = client
        self.is_stateless = is_stateless
        self.handle = None
        self.seen = []

    async def tools(self) -> list[str]:
        return sorted(tool.name for tool in (await self.client.list_tools()).tools)

    async def call(self, tool: str, **arguments) -> dict:
        """Calls a tool. Without a session, the handle goes with the call."""
        if self.is_stateless and self.handle:
            arguments.setdefault("handle", self.handle)
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        if result.is_error:
            return {"refused": text}
        self.handle = (result.structured_content or {}).get("handle", self.handle)
        return {**result.structured_content, "text": text}

    async def followed(self, tool: str, **arguments) -> dict:
        """Calls a tool, and keeps the messages of its progress."""
        messages = []

        async def on_progress(progress, total, message) -> None:
            messages.append(message)

        if self.is_stateless and self.handle:
            arguments.setdefault("handle", self.handle)
        result = await self.client.call_tool(tool, arguments, progress_callback=on_progress)
        return {**(result.structured_content or {}), "progress": messages}

    async def is_freed_by_cancel(self) -> bool:
        """Cancels the call that runs a long command. Then another call can change the tree."""
        begun = asyncio.Event()

        async def on_progress(progress, total, message) -> None:
            begun.set()

        arguments = {"command": "sleep 500", "timeout_seconds": 600}
        if self.is_stateless:
            arguments["handle"] = self.handle
        command = self.client.call_tool("bash", arguments, progress_callback=on_progress)
        call = asyncio.create_task(command)
        await begun.wait()
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        for _ in range(8):
            edit = {"subcommand": "create", "path": "free.txt", "content": "x"}
            if "refused" not in await self.call("edit_tool", **edit):
                return True
        return False

    async def run(self, location: str) -> dict:
        seen = {"before": await self.tools()}
        fetched = await self.call("github_repository_fetch", location=location)
        workspace = fetched["workspaceId"]
        while True:
            inspected = await self.call(
                "github_workspace_directory_inspector", workspaceId=workspace, depth=4
            )
            if "refused" not in inspected:
                break
            await asyncio.sleep(0.1)
        seen["inspected"] = inspected
        self.handle = None
        seen["without_handle"] = await self.call("bash", command="true")
        seen["ls"] = await self.call("navigator", workspaceId=workspace, subcommand="ls")
        seen["early"] = await self.call(
            "edit_tool", subcommand="create", path="x.txt", content="x"
        )
        seen["outside"] = await self.call("navigator", subcommand="cd", path="../..")
        seen["cd"] = await self.call("navigator", subcommand="cd", path="app")
        again = await self.call("navigator", workspaceId=workspace, subcommand="pwd")
        seen["repeated"] = again
        seen["lock"] = await self.call("navigator.lock_cwd")
        seen["locked"] = await self.tools()
        seen["edited"] = await self.call(
            "edit_tool",
            subcommand="str_replace",
            path="models/order.rb",
            old_str="shipping_fee",
            new_str="fee",
        )
        seen["ambiguous"] = await self.call(
            "edit_tool", subcommand="str_replace", path="models/order.rb", old_str="e", new_str="E"
        )
        seen["created"] = await self.call(
            "edit_tool", subcommand="create", path="a.json", content='{"b": 1,\n "a": 2}\n'
        )
        seen["set"] = await self.call(
            "json_edit_tool", subcommand="set", path="a.json", json_path="$.b", value=None
        )
        seen["diff"] = await self.call("git_tool", subcommand="diff")
        await self.call("git_tool", subcommand="add")
        seen["committed"] = await self.call("git_tool", subcommand="commit", message="Edit")
        seen["bash"] = await self.call("bash", command="pwd; cat a.json; echo no >&2; exit 3")
        seen["slow"] = await self.followed("bash", command="echo begun; sleep 4")
        seen["is_freed"] = await self.is_freed_by_cancel()
        seen["network"] = await self.call(
            "bash", command="exec 3<>/dev/tcp/127.0.0.1/80", timeout_seconds=20
        )
        seen["elsewhere"] = await self.call("edit_tool", subcommand="view", path="../docs/x")
        seen["unlock"] = await self.call("navigator", subcommand="unlock")
        seen["after"] = await self.tools()
        self.handle = None
        repository = {"repoOwner": fetched["owner"], "repoName": fetched["name"]}
        status = "repo_rag_index_status"
        seen["indexed"] = await self.followed(status, **repository, waitSeconds=60)
        return seen


@contextlib.asynccontextmanager
async def transport(kind: str, target: str, project: str, token_file: str):
    if kind == "--stdio":
        args = ["mcp", "--project", project, "--toolsets", TOOLSETS]
        yield stdio_client(StdioServerParameters(command=target, args=args, env=dict(os.environ)))
        return
    token = Path(token_file).read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "X-Memory-Copilot-Project": project}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        yield streamable_http_client(target, http_client=http)


async def main() -> None:
    kind, target, project, token_file, location = sys.argv[1:]
    found = {}
    for era, mode in (("session", "legacy"), ("stateless", "2026-07-28")):
        changes = []

        async def received(message) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                changes.append(message.method)

        async with transport(kind, target, project, token_file) as connection:
            client = Client(
                connection,
                mode=mode,
                message_handler=received,
                read_timeout_seconds=TIMEOUT_SECONDS,
            )
            async with client:
                seen = await Session(client, era == "stateless").run(location)
                capability = client.server_capabilities.tools
                seen["list_changed"] = bool(capability and capability.list_changed)
                # Two changes of a session; they may arrive after the response.
                for _ in range(100):
                    if era == "stateless" or len(changes) >= 2:
                        break
                    await asyncio.sleep(0.1)
                found[era] = {**seen, "changes": changes}
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
