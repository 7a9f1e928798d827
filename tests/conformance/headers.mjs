// Adds the headers in CONFORMANCE_HEADERS to every request of this process: the suite has no option
// for a bearer token. To be loaded with `node --import`. fetch and undici announce their requests on
// one channel, node:http on another.

import { subscribe } from "node:diagnostics_channel";

const headers = Object.entries(JSON.parse(process.env.CONFORMANCE_HEADERS));

subscribe("undici:request:create", ({ request }) => {
  for (const [name, value] of headers) request.addHeader(name, value);
});

subscribe("http.client.request.created", ({ request }) => {
  for (const [name, value] of headers) request.setHeader(name, value);
});
