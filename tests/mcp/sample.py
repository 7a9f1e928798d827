#!/usr/bin/env python3
"""Saves notes with the official Python SDK as a client that offers its own model (MCP sampling).

    sample.py (--stdio BINARY | --http URL) PROJECT TOKEN_FILE NOTE...

Saves each NOTE, and answers the question about it by its name: `prose` with text that is no JSON,
`reject` as a user who rejects the request, `slow` after the save has returned, `doubt` with a doubt.
Prints the structured results of the saves and the questions as JSON.
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

DOUBT = {"verdict": "status_report", "usefulness": 0.1, "relations": []}
NOTES = {
    name: f"Today the {name} retry of the gateway {name} was fixed by our {name} team."
    for name in ("doubt", "prose", "reject", "slow")
}


class Model:
    """The client's model."""

    def __init__(self):
        self.questions = []
        self.may_answer = asyncio.Event()

    async def __call__(self, context, params: types.CreateMessageRequestParams):
        question = json.loads(params.messages[-1].content.text)
        self.questions.append({"system": params.system_prompt, "note": question["note"]["text"]})
        text = json.dumps(DOUBT)
        note = question["note"]["text"]
        if note == NOTES["reject"]:
            return types.ErrorData(code=-1, message="User rejected sampling request")
        if note == NOTES["prose"]:
            text = "It is a fine note, keep it."
        if note == NOTES["slow"]:
            await self.may_answer.wait()
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", content=content, model="of-the-client")


@contextlib.asynccontextmanager
async def transport(kind: str, target: str, project: str, token_file: str):
    if kind == "--stdio":
        args = ["mcp", "--project", project]
        yield stdio_client(
            StdioServerParameters(command=target, args=args, env=dict(os.environ))
        )
        return
    token = Path(token_file).read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "X-Memory-Copilot-Project": project}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        yield streamable_http_client(target, http_client=http)


async def until_proposed(client: Client, record: str) -> None:
    """Waits until the record is a proposal."""
    while True:
        opened = await client.call_tool("open_doc", {"id": record})
        if "propos" in opened.content[0].text:
            return
        await asyncio.sleep(0.05)


async def main() -> None:
    kind, target, project, token_file, *names = sys.argv[1:]
    model = Model()
    saves = {}
    async with transport(kind, target, project, token_file) as connection:
        client = Client(connection, mode="legacy", sampling_callback=model)
        async with client:
            for name in names:
                arguments = {"kind": "fact", "content": NOTES[name]}
                saved = await client.call_tool("save", arguments)
                saves[name] = saved.structured_content
            if "slow" in saves:
                model.may_answer.set()
                await asyncio.wait_for(until_proposed(client, saves["slow"]["id"]), 60)
    print(json.dumps({"saves": saves, "questions": model.questions}))


if __name__ == "__main__":
    asyncio.run(main())
