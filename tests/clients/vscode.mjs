// Validates a file against the schema of VS Code for `.vscode/mcp.json`:
//
//     node vscode.mjs PACKAGES FILE
//
// PACKAGES is the directory with node_modules. The schema is a constant in a module of VS Code. The
// module imports parts of the editor that need a browser, so these imports are replaced; the schema
// uses of them only translated texts.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, file] = process.argv.slice(2);
const MODULE = "@codingame/monaco-vscode-api/vscode/src/vs/workbench/contrib/mcp/common/mcpConfiguration.js";

// Can be called, extended and read; its members are itself.
const ANYTHING = `const anything = new Proxy(class {}, {
    get: (target, name) => (name === "prototype" ? target.prototype : anything),
    apply: () => anything,
});
`;
const standIns = {
    localize: "(key, text) => text",
    inputsSchema: "{ definitions: { inputs: {} } }",
};
const source = readFileSync(join(packages, "node_modules", MODULE), "utf8");
const withoutImports = source.replace(/^import \{([^}]*)\} from '[^']*';$/gm, (_, names) =>
    names
        .split(",")
        .map((name) => name.trim())
        .map((name) => `const ${name} = ${standIns[name] ?? "anything"};`)
        .join("\n"),
);
const directory = mkdtempSync(join(tmpdir(), "vscode-schema-"));
const copy = join(directory, "schema.mjs");
writeFileSync(copy, ANYTHING + withoutImports);
const { mcpServerSchema } = await import(pathToFileURL(copy)).finally(() =>
    rmSync(directory, { recursive: true }),
);

const Ajv = createRequire(join(packages, "x.js"))("ajv");
// VS Code names its schema by `id`, as drafts before 6 did.
const { id, ...schema } = mcpServerSchema;
const ajv = new Ajv({ strict: false, allErrors: true, formats: { uri: true } });
const validate = ajv.compile(schema);
const configuration = JSON.parse(readFileSync(file, "utf8"));
if (!validate(configuration)) {
    console.error(JSON.stringify(validate.errors, null, 2));
    process.exit(1);
}
