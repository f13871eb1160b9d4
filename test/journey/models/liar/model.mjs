// A server that speaks just enough of Cog's interface to lie, in the way that `lie` names.

import http from "node:http";

const { PORT, HOST, WEBHOOK_AUTH_TOKEN: token } = process.env;

const lies = {
  "wrong id": () => JSON.stringify({ id: "another", status: "succeeded", output: "stolen" }),
  garbage: () => "<html>",
  // The output is over the limit of 16 MiB.
  huge: (id) => JSON.stringify({ id, status: "succeeded", output: "x".repeat(17 * 1024 ** 2) }),
};

http
  .createServer(async (request, response) => {
    const reply = (status, body) => response.writeHead(status).end(JSON.stringify(body));
    if (request.url === "/health-check") return reply(200, { status: "READY" });
    if (request.url === "/openapi.json") return reply(200, {});
    if (request.url === "/shutdown") process.exit(0);
    const chunks = await request.toArray();
    const { id, input, webhook } = JSON.parse(Buffer.concat(chunks).toString());
    reply(202, { id, status: "starting" });
    await fetch(webhook, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: lies[input.lie](id),
    }).catch(() => {});
  })
  .listen(Number(PORT), HOST);
