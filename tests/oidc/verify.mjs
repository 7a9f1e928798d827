// Verifies an access token by published keys alone: node verify.mjs FOLDER
//
// FOLDER has the node_modules. Standard input has `token`, `jwks`, `issuer`, `audience` and `now` as JSON;
// standard output gets the token's header and claims.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(path.join(process.argv[2], "package.json"));
const jose = await import(pathToFileURL(packages.resolve("jose")));
const { token, jwks, issuer, audience, now } = JSON.parse(readFileSync(0));
const { protectedHeader: header, payload: claims } = await jose.jwtVerify(
  token,
  jose.createLocalJWKSet(jwks),
  { issuer, audience, typ: "at+jwt", algorithms: ["EdDSA"], currentDate: new Date(now * 1000) },
);
console.log(JSON.stringify({ header, claims }));
