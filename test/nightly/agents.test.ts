/**
 * A whole tool loop of each coding agent with its default settings, against a model that is as strict as
 * vLLM.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { publishModels } from "../../src/dev/seed.ts";
import { USERNAME } from "../journey/support/access.ts";
import { World } from "../journey/support/world.ts";
import { AGENTS, installAgents, runAgent } from "./support/agents.ts";

const MODEL = `${USERNAME}/agent`;

/** Addresses outside of this machine that agents ask for. All are refused. */
const refused = new Set<string>();
const proxy = createServer((request, response) => {
  refused.add(request.url ?? "");
  response.writeHead(403).end();
});
proxy.on("connect", ({ url = "" }, socket) => {
  socket.on("error", () => socket.destroy());
  const [host, port] = url.split(":");
  // Some agents send all requests to the proxy, also those to loopback.
  if (host === "127.0.0.1" || host === "localhost") {
    const direct = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      direct.pipe(socket).pipe(direct);
    });
    direct.on("error", () => socket.destroy());
    return;
  }
  refused.add(url);
  socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
});

let world: World;
let models: string;
let folder: string;
let proxyUrl: string;

beforeAll(async () => {
  models = mkdtempSync(join(tmpdir(), "auspex-models-"));
  cpSync(join(ROOT, "test/nightly/models"), models, { recursive: true });
  const strict = join(ROOT, "test/journey/models/oracle/strict.mjs");
  cpSync(strict, join(models, "agent/strict.mjs"));
  world = await World.open({ publish: (owner) => publishModels(owner, USERNAME, models) });
  await world.runner("one", { slots: 8, models: { owner: USERNAME, folder: models } });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  proxyUrl = `http://127.0.0.1:${address.port}`;
  folder = await installAgents({ ...world.access, model: MODEL });
});

afterAll(async () => {
  proxy.close();
  proxy.closeAllConnections();
  console.log("Refused to agents:", [...refused].join(", "));
  for (const one of [models, folder]) rmSync(one, { recursive: true, force: true });
  await world.close();
});

test.each(Object.keys(AGENTS) as (keyof typeof AGENTS)[])(
  "%s calls its shell and answers with the result",
  async (name) => {
    const note = `The password is ${crypto.randomUUID()}`;
    const agent = AGENTS[name]({ ...world.access, model: MODEL });
    const printed = await runAgent(agent, folder, { note, proxy: proxyUrl });
    expect(printed).toContain(note);
  },
);
