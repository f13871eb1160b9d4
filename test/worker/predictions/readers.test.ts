/** Limits of readers and of waiting calls, per prediction and per account. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import worker from "../../../src/worker.ts";
import { type Client, ORIGIN } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { answer, chunk, MESSAGES, newOpenAi } from "../support/openai.ts";
import { newWorld } from "../support/world.ts";

const streams: Response[] = [];
afterEach(async () => {
  await Promise.all(streams.splice(0).map((response) => response.body?.cancel()));
});

/** An account may read three streams at once under these bindings. */
const bindings = Object.assign({}, env, { MAX_STREAMS: "3" });

async function read({ token }: Client, id: string): Promise<Response> {
  const request = new Request(`${ORIGIN}/v1/predictions/${id}/stream`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return worker.fetch(request, bindings, createExecutionContext());
}

async function post({ token }: Client, path: string, body: object): Promise<Response> {
  const request = new Request(`${ORIGIN}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true }),
  });
  return worker.fetch(request, bindings, createExecutionContext());
}

async function expectRefusal(response: Response, words: RegExp) {
  expect(response.headers.get("retry-after")).toBe("15");
  expect(await response.json()).toMatchObject({
    status: 429,
    detail: expect.stringMatching(words),
  });
}

test("an account reads three streams at once, and another account three of its own", async () => {
  const world = await newWorld();
  const ids = [await world.waiting(), await world.waiting()];
  const open = async () => {
    const response = await read(world.client, ids[streams.length % 2] ?? "");
    if (response.ok) streams.push(response);
    return response;
  };
  for (let n = 0; n < 3; n++) expect((await open()).status).toBe(200);
  await expectRefusal(await open(), /You have 3 open streams and waiting requests.*MAX_STREAMS/);
  const other = await newWorld();
  const stranger = await read(other.client, await other.waiting());
  expect(stranger.status).toBe(200);
  streams.push(stranger);
  await streams.shift()?.body?.cancel();
  await eventually(async () => expect((await open()).status).toBe(200));
});

test("streams that failed to open, or have ended, no longer count", async () => {
  const { client, begun } = await newWorld();
  for (let n = 0; n < 4; n++) {
    const missing = await read(client, crypto.randomUUID());
    expect(missing.status).toBe(404);
    await missing.body?.cancel();
  }
  const { id, channel } = await begun();
  await channel.succeed("a");
  for (let n = 0; n < 4; n++) {
    await eventually(async () => {
      const response = await read(client, id);
      const text = await response.text();
      expect([response.status, text]).toEqual([200, expect.stringContaining("event: done")]);
    });
  }
});

test("a refused stream creates nothing, whichever call asks for it", async () => {
  const { client, model } = await newOpenAi();
  for (let n = 0; n < 3; n++) {
    const response = await post(client, "/v1/predictions", { model, input: {} });
    expect(response.status).toBe(200);
    streams.push(response);
  }
  const refused = async (path: string, body: object) => {
    const response = await post(client, path, { model, ...body });
    expect([response.status, await response.text()]).toEqual([
      429,
      expect.stringMatching(/You have 3 open streams and waiting requests/),
    ]);
  };
  await refused("/v1/predictions", { input: {} });
  await refused("/v1/vendora/chat/completions", { messages: MESSAGES });
  await refused("/v1/vendora/responses", { input: "Go on" });
  const list = await client.fetch("/v1/predictions");
  expect((await list.json<{ items: object[] }>()).items).toHaveLength(3);
});

test("streams of the OpenAI convention count, from the call to their end", async () => {
  const { client, model, fleet } = await newOpenAi();
  const chat = () => post(client, "/v1/vendora/chat/completions", { model, messages: MESSAGES });
  const calls = [
    chat(),
    chat(),
    post(client, "/v1/vendora/responses", { model, input: "Go" }),
    chat(),
  ];
  // The refused call is the only one with an answer before the runner has answered the others.
  expect((await Promise.race(calls)).status).toBe(429);
  for (let n = 0; n < 3; n++) await answer(fleet, chunk({ content: "Yes" }, "stop"));
  for (const response of await Promise.all(calls)) await response.text();
  const [last] = await Promise.all([chat(), answer(fleet, chunk({ content: "Yes" }, "stop"))]);
  expect([last.status, await last.text()]).toEqual([200, expect.stringContaining("Yes")]);
});
