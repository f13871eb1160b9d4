/** Bodies of requests: bounded while they arrive, on every route, before they are parsed. */
import { exports } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { parsedLog } from "../../../src/services/openai/log-reader.ts";
import { Client, ORIGIN, type Refusal } from "../support/client.ts";
import { newWorld } from "../support/world.ts";

const MIB = 1024 * 1024;
const OPERATOR = "an-operator-token-for-tests";
const JSON_TYPE = { "content-type": "application/json" };

let world: Awaited<ReturnType<typeof newWorld>>;
let doors: [string, Client][];

beforeAll(async () => {
  world = await newWorld();
  const runner = new Client(world.runnerToken);
  doors = [
    ["/v1/predictions", world.client],
    [`/v1/models/${world.model}/versions`, world.client],
    ["/v1/vendora/chat/completions", world.client],
    ["/v1/vendora/embeddings", world.client],
    ["/v1/vendora/responses", world.client],
    ["/v1/vendora/audio/speech", world.client],
    ["/v1/vendora/audio/transcriptions", world.client],
    ["/v1/uploads", world.client],
    ["/v1/operator/users", new Client(OPERATOR)],
    ["/v1/runner/sessions", runner],
    ["/v1/runner/jobs/claim", runner],
    ["/v1/runner/reports", runner],
    ["/v1/runner/telemetry", runner],
  ];
});

describe("JSON on every route", () => {
  test("a body of 10 MB of brackets is too deep, and another request is answered meanwhile", async () => {
    const attack = "[".repeat(10 * MIB);
    for (const [path, client] of doors) {
      const [answer, stranger] = await Promise.all([
        client.post(path, attack),
        new Client(undefined).fetch("/v1/hardware"),
      ]);
      expect([path, answer.status]).toEqual([path, 422]);
      expect((await answer.json<Refusal>()).detail).toMatchObject([{ type: "recursion_loop" }]);
      expect(stranger.status).toBe(200);
    }
  });

  test.each(["[],", "{},", "1,", '"",'])("a body of too many values is a 413: %s", async (one) => {
    const attack = `{"a":[${one.repeat(500_000)}1]}`;
    for (const [path, client] of doors) {
      const answer = await client.post(path, attack);
      expect([path, answer.status]).toEqual([path, 413]);
      const text = await answer.text();
      expect(text).toContain("500,000 values");
      const isOpenAi = path.startsWith("/v1/vendora");
      expect(JSON.parse(text)).toMatchObject(
        isOpenAi ? { error: { code: "request_too_large" } } : { type: "urn:auspex:too_large" },
      );
    }
  });

  test("a body has room for the token arrays of embeddings", async () => {
    const { client, model } = world;
    const input = { tokens: Array.from({ length: 499_990 }, (_, n) => n % 100_000) };
    const created = await client.create({ model, input });
    expect(created.status).toBe(202);
    await client.fetch(`/v1/predictions/${created.body.id}/cancel`, { method: "POST" });
  });
});

test("a value that a runner has stored is counted before calls parse it", () => {
  expect(parsedLog('{"embedding":[0.5]}')).toEqual({ embedding: [0.5] });
  for (const text of ["[".repeat(9_000_000), `[${"[],".repeat(3_000_000)}1]`])
    expect(() => parsedLog(text)).toThrow(/too many values or is nested too deeply/);
});

describe("a body", () => {
  /** A body that never ends. @param first the chunks that arrive at once */
  function endless(first: Uint8Array[] = []) {
    let asked = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const chunk = first[asked++];
        if (chunk) controller.enqueue(chunk);
        else await new Promise(() => {});
      },
    });
    return { body, asked: () => asked };
  }

  const send = (token: string | undefined, body: BodyInit, more: RequestInit = {}) =>
    exports.default.fetch(`${ORIGIN}/v1/predictions`, {
      method: "POST",
      headers: { ...JSON_TYPE, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body,
      ...more,
    });

  test("a body of a client without a valid token is not waited for", async () => {
    for (const token of [undefined, "aus_nobodys"]) {
      const answer = await send(token, endless().body);
      expect(answer.status).toBe(401);
    }
  });
});
