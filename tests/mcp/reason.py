#!/usr/bin/env python3
"""Follows a reasoning schema with the official Python SDK.

    reason.py BINARY PROJECT URL TOKEN_FILE

Gets the prompts `bugfix` and `system_prompt` from the MCP server that BINARY starts, answers the
first as a model would, stores the answer as a dialog with the version of the second, and prints the response of the service as JSON. The first answer lacks a
field, so the service has to name it.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters, stdio_client

TASK = "The trigger delay of a cart session is nil"
DIFF = """--- a/app/services/cart_sessions/setting.rb
+++ b/app/services/cart_sessions/setting.rb
@@ -1 +1 @@
-  delay
+  delay_in(trigger_delay_unit)
"""


PLACE = {"task": TASK, "path": "app/services/cart_sessions/setting.rb"}


async def prompt(binary: str, project: str, name: str, arguments: dict) -> str:
    server = StdioServerParameters(
        command=binary, args=["mcp", "--project", project], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        got = await client.get_prompt(name, arguments)
        return "\n".join(message.content.text for message in got.messages)


def answered(prompt: str, schema: dict) -> dict:
    """An answer with one field for each that the prompt and the schema request."""
    answer = {}
    for field, rule in schema["properties"].items():
        assert f"`{field}`" in prompt, f"the prompt does not request {field}:\n{prompt}"
        of_field = f"The {field} of the delay that is nil in cart sessions"
        answer[field] = [of_field] if rule["type"] == "array" else of_field
    answer["code_diff"] = DIFF
    answer["rationale"] = "The delay of a cart session is nil if delay_unit is in hours."
    return answer


async def main() -> None:
    binary, project, url, token_file = sys.argv[1:]
    text = await prompt(binary, project, "bugfix", PLACE)
    system = await prompt(binary, project, "system_prompt", {})
    headers = {"Authorization": f"Bearer {Path(token_file).read_text().strip()}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False) as http:
        schema = (await http.get("/sgr/bugfix", params={"project_key": project})).json()
        answer = answered(text, schema["answer_schema"])
        version = (await http.get(f"/prompts/{project}")).json()["prompt_version"]
        assert f"state `prompt_version` {version} and" in system, system
        dialog = {
            "project_key": project,
            "schema": "bugfix",
            "outcome": "succeeded",
            "prompt_version": version,
            "messages": [{"role": "user", "content": TASK}],
        }
        incomplete = {field: value for field, value in answer.items() if field != "plan_steps"}
        refused = await http.post("/dialogs", json={**dialog, "answer": incomplete})
        assert refused.status_code == 400, refused.text
        assert refused.json()["field"] == "answer.plan_steps", refused.text
        stored = await http.post("/dialogs", json={**dialog, "answer": answer})
        assert stored.status_code == 201, stored.text
        print(json.dumps({"prompt": text, "system": system, "stored": stored.json()}))


if __name__ == "__main__":
    asyncio.run(main())
