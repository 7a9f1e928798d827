// Forgeries by a provider, or by an attacker in its name: of ID tokens and of the provider's metadata.

const minute = 60;

// Each changes the claims of a valid ID token, which is then signed with the provider's own key.
const lies = {
  "another issuer": (claims) => ({ ...claims, iss: "https://attacker.example" }),
  "another audience": (claims) => ({ ...claims, aud: "another-client" }),
  "a second audience": (claims) => ({ ...claims, aud: [claims.aud, "another-client"] }),
  "another party": (claims) => ({ ...claims, azp: "another-client" }),
  expired: (claims) => ({ ...claims, exp: claims.iat - minute }),
  "issued long ago": (claims) => ({ ...claims, iat: claims.iat - 60 * minute }),
  "issued ahead": (claims) => ({ ...claims, iat: claims.iat + 60 * minute }),
  "another nonce": (claims) => ({ ...claims, nonce: "another" }),
  "no nonce": ({ nonce, ...claims }) => claims,
  "another access token": (claims) => ({ ...claims, at_hash: "AAAAAAAAAAAAAAAAAAAAAA" }),
  "no subject": ({ sub, ...claims }) => claims,
  "an empty subject": (claims) => ({ ...claims, sub: "" }),
  "nothing at all": (claims) => claims,
};

// Each encodes or signs a token with valid claims in a wrong way.
const ways = {
  unsigned: (claims) => `${part({ alg: "none" })}.${part(claims)}.`,
  "signed with the client secret": (claims, { jose }) =>
    new jose.SignJWT(claims)
      .setProtectedHeader({ alg: "HS256" })
      .sign(new TextEncoder().encode(process.env.CLIENT_SECRET)),
  "signed with a key of its own": async (claims, { jose }) => {
    const { privateKey } = await jose.generateKeyPair("RS256");
    const header = { alg: "RS256", kid: "key-RS256" };
    return new jose.SignJWT(claims).setProtectedHeader(header).sign(privateKey);
  },
  "with an unknown extension": (claims, tools) => signed(claims, tools, { crit: ["x"], x: 1 }),
  "of another type": (claims, tools) => signed(claims, tools, { typ: "at+jwt" }),
};

// Forged metadata of the provider.
export const metadata = (address) => ({
  "a page without TLS": { authorization_endpoint: "http://attacker.example/auth" },
  "a page that is a script": { authorization_endpoint: "javascript:alert(1)" },
  "a token endpoint without TLS": { token_endpoint: "http://attacker.example/token" },
  "keys without TLS": { jwks_uri: "http://attacker.example/jwks" },
  "keys that have moved": { jwks_uri: `${address}/moved` },
  "more than anybody reads": { service_documentation: "x".repeat(600 * 1024) },
});

export async function forge(kind, { id_token: good, ...answer }, tools) {
  if (kind === "without an ID token") return answer;
  const claims = JSON.parse(Buffer.from(good.split(".")[1], "base64url"));
  if (lies[kind]) return { ...answer, id_token: await signed(lies[kind](claims), tools, {}) };
  if (ways[kind]) return { ...answer, id_token: await ways[kind](claims, tools) };
  throw new Error(`no forgery is called ${kind}`);
}

async function signed(claims, { jose, keys }, header) {
  const jwk = keys.find((key) => key.alg === "RS256");
  const options = { crit: { x: false } };
  return new jose.SignJWT(claims)
    .setProtectedHeader({ alg: "RS256", kid: jwk.kid, ...header })
    .sign(await jose.importJWK(jwk, "RS256"), options);
}

function part(json) {
  return Buffer.from(JSON.stringify(json)).toString("base64url");
}
