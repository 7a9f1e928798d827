// Runs the provider of package.json on a free port of this machine for as long as its standard input is
// open: node provider.mjs FOLDER [github]
//
// FOLDER has the provider's node_modules. With `github`, the endpoints have the paths of GitHub's. The
// first line of the output is the provider's URL. Any name can sign in. The client's secret is
// CLIENT_SECRET, and the provider redirects browsers to one of REDIRECT_URIS.
//
// After `GET /tamper/KIND`, all responses are forged in this way; see forgeries.mjs.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { forge, metadata } from "./forgeries.mjs";

const [folder, kind] = process.argv.slice(2);
const packages = createRequire(path.join(folder, "package.json"));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { default: Provider } = await load("oidc-provider");
const jose = await load("jose");

// GitHub's OAuth has a path, which is a part of its issuer.
const isGithub = kind === "github";
const mount = isGithub ? "/login/oauth" : "";
const routes = isGithub ? { authorization: "/authorize", token: "/access_token" } : {};

async function signingKey(alg, kid) {
  const { privateKey } = await jose.generateKeyPair(alg, { extractable: true });
  return { ...(await jose.exportJWK(privateKey)), alg, kid, use: "sig" };
}

const algorithms = ["RS256", "PS256", "ES256", "EdDSA"];
const keys = await Promise.all(algorithms.map((alg) => signingKey(alg, `key-${alg}`)));

function web(id, rest) {
  return {
    client_id: id,
    client_secret: process.env.CLIENT_SECRET,
    token_endpoint_auth_method: isGithub ? "client_secret_post" : "client_secret_basic",
    redirect_uris: process.env.REDIRECT_URIS.split(" "),
    ...rest,
  };
}

const configuration = {
  clients: [
    ...algorithms.map((alg) => web(`web-${alg}`, { id_token_signed_response_alg: alg })),
    {
      client_id: "memory-copilot-cli",
      application_type: "native",
      token_endpoint_auth_method: "none",
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
      response_types: [],
      redirect_uris: [],
    },
  ],
  jwks: { keys },
  // GitHub accepts the secret in the body only; the provider by default accepts a header, too.
  ...(isGithub && { clientAuthMethods: ["client_secret_post", "none"] }),
  cookies: { keys: ["for the tests"] },
  routes,
  scopes: ["openid", "offline_access", "read:user", "user:email", "memory:read", "memory:write"],
  claims: { email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
  features: { deviceFlow: { enabled: true } },
  findAccount: (_, id) => ({ accountId: id, claims: () => person(id) }),
};

function person(id) {
  return {
    sub: id,
    name: "Ada Lovelace",
    preferred_username: "ada",
    email: `${id}@example.com`,
    email_verified: !id.startsWith("unverified"),
  };
}

// Responses of GitHub's REST API about the user of a token.
async function rest(ctx, provider) {
  const token = ctx.get("authorization").replace(/^Bearer /, "");
  const { accountId: id } = (await provider.AccessToken.find(token)) ?? {};
  if (!id) {
    ctx.status = 401;
  } else if (ctx.path === "/user") {
    ctx.body = { id: Number(id), login: "ada", name: "Ada Lovelace" };
  } else {
    ctx.body = [
      { email: "old@example.com", primary: false, verified: true },
      { email: `${id}@example.com`, primary: true, verified: id !== "13" },
    ];
  }
}

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(address + mount, configuration);
  const said = metadata(address);
  let forgery;
  provider.use(async (ctx, next) => {
    if (ctx.path.startsWith("/tamper/")) {
      forgery = decodeURIComponent(ctx.path.slice("/tamper/".length));
      ctx.status = 204;
    } else if (ctx.path === "/moved") {
      ctx.redirect("/jwks");
    } else if (isGithub && ctx.path.startsWith("/user")) {
      await rest(ctx, provider);
    } else if (isGithub && ctx.get("authorization").startsWith("Basic ")) {
      ctx.status = 401;
      ctx.body = { error: "invalid_client" };
    } else {
      await next();
      if (forgery && ctx.path === "/token" && ctx.body?.id_token) {
        ctx.body = await forge(forgery, ctx.body, { jose, keys });
      }
      if (ctx.path === "/.well-known/openid-configuration") Object.assign(ctx.body, said[forgery]);
    }
  });
  const answer = provider.callback();
  server.on("request", (request, response) => {
    request.originalUrl = request.url;
    if (mount && request.url.startsWith(mount)) request.url = request.url.slice(mount.length);
    answer(request, response);
  });
  console.log(address);
});
process.stdin.resume().on("end", () => process.exit());
