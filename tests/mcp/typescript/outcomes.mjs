// Produces every outcome of every tool with the official TypeScript SDK, which validates each result:
//
//     node outcomes.mjs URL SCENARIO VALUES
//
// like ../outcomes.py. The SDK knows the schemas of the tools that it has listed.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages are in the cache, not next to this file.
const packages = createRequire(`${process.env.MCP_PACKAGES}/package.json`);
const load = async (name) => import(pathToFileURL(packages.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const [url, scenario, given] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(scenario, "utf8"));
const values = JSON.parse(given);
const kept = { ...values.kept };

/** The value with what earlier steps kept in the place of `$name`. */
function filled(value) {
  if (Array.isArray(value)) return value.map(filled);
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each)]));
  }
  if (typeof value !== "string" || !value.startsWith("$")) return value;
  const [name, ...rest] = value.slice(1).split("/");
  return rest.length > 0 ? [kept[name], ...rest].join("/") : kept[name];
}

/** What stands at `a.0.b`; undefined where nothing does. */
function at(value, path) {
  return path.split(".").reduce((inner, part) => inner?.[part], value);
}

/** What is wrong with a result, if anything. */
function fault(step, result) {
  const texts = result.content.filter((part) => part.type === "text").map((part) => part.text);
  const text = texts.join("\n");
  if (text.trim() === "") return "has no text";
  if (step.error !== undefined) {
    if (!result.isError) return `was accepted: ${text}`;
    return text.includes(step.error) ? undefined : `does not name ${step.error}: ${text}`;
  }
  if (result.isError) return text;
  const said = result.structuredContent;
  for (const [path, expected] of Object.entries(step.expect ?? {})) {
    if (JSON.stringify(at(said, path)) !== JSON.stringify(filled(expected))) {
      return `${path} is ${JSON.stringify(at(said, path))}: ${JSON.stringify(said)}`;
    }
  }
  for (const path of step.has ?? []) {
    if ([undefined, null, ""].includes(at(said, path))) return `has no ${path}: ${JSON.stringify(said)}`;
  }
  for (const [name, path] of Object.entries(step.keep ?? {})) kept[name] = at(said, path);
  return undefined;
}

/** A client with this token, which knows the tools' schemas. */
async function connected(token) {
  const headers = { Authorization: `Bearer ${token}`, "X-Memory-Copilot-Project": values.project };
  const client = new Client({ name: "outcomes", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  return { client, tools };
}

/** What is wrong with a step's outcome, if anything. */
async function outcome({ client }, step) {
  try {
    return fault(step, await client.callTool({ name: step.tool, arguments: filled(step.arguments) }));
  } catch (error) {
    // The SDK's own check throws.
    return String(error);
  }
}

const clients = {};
for (const [name, token] of Object.entries(values.tokens)) clients[name] = await connected(token);
const { tools } = clients.person;
let failed = 0;
for (const step of steps) {
  const wrong = await outcome(clients[step.as], step);
  if (wrong !== undefined) failed += 1;
  console.log(`${wrong === undefined ? "ok  " : "FAIL"} ${step.tool}: ${step.outcome}${wrong ? `: ${wrong}` : ""}`);
}
const seen = new Set(steps.map((step) => step.tool));
const outcomes = tools.find((tool) => tool.name === "save").outputSchema.properties.outcome.enum;
const tried = new Set(steps.map((step) => step.expect?.outcome));
const missing = [...tools.map((tool) => tool.name).filter((name) => !seen.has(name)), ...outcomes.filter((o) => !tried.has(o))];
for (const name of missing) console.log(`FAIL nothing tries ${name}`);
failed += missing.length;
console.log(failed > 0 ? `${failed} failed` : "all passed");
process.exit(failed > 0 ? 1 : 0);
