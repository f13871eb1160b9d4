/** Waiting calls: an account has a limited number at once, and none after its token has ended. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import worker from "../../../src/worker.ts";
import { sized } from "../../support/sized.ts";
import { type Client, ORIGIN } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { answer, chat, completion, MESSAGES, newOpenAi } from "../support/openai.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newWorld, operator } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

/** An account may wait for three answers at once under these bindings. */
const bindings = Object.assign({}, env, { MAX_STREAMS: "3" });

interface Wait {
  path: string;
  body: object;
  headers?: Record<string, string>;
}

const waitsOf = (model: string): Wait[] => [
  { path: "/v1/vendora/chat/completions", body: { model, messages: MESSAGES } },
  { path: "/v1/vendora/responses", body: { model, input: "Go on" } },
  { path: "/v1/vendora/embeddings", body: { model, input: "Go on" } },
  { path: "/v1/predictions", body: { model, input: {} }, headers: { prefer: "wait=60" } },
  {
    path: `/v1/models/${model}/predictions`,
    body: { input: {} },
    headers: { prefer: "wait, cancel" },
  },
];

function begin({ token }: Client, { path, body, headers }: Wait, signal?: AbortSignal) {
  const request = new Request(`${ORIGIN}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  return worker.fetch(request, bindings, createExecutionContext());
}

const countOf = async (client: Client) =>
  (await client.ok<{ items: object[] }>("GET", "/v1/predictions")).items.length;

describe("waiting calls of an account", () => {
  test("waiting calls of all kinds are at most three, and a refused one creates nothing", async () => {
    const { client, model, fleet } = await newOpenAi();
    const waits = waitsOf(model);
    const waiting = waits.slice(2).map((wait) => begin(client, wait));
    await eventually(async () => expect(await countOf(client)).toBe(3));
    for (const wait of waits) {
      const refused = await begin(client, wait);
      expect(refused.headers.get("retry-after")).toBe("15");
      expect([refused.status, await refused.text()]).toEqual([
        429,
        expect.stringMatching(/You have 3 open streams and waiting requests/),
      ]);
    }
    expect(await countOf(client)).toBe(3);
    // A create without a wait does not count.
    const { path, body } = waits[3] as Wait;
    expect((await begin(client, { path, body })).status).toBe(202);
    for (let n = 0; n < 4; n++) await answer(fleet, [[0.5]]);
    for (const response of await Promise.all(waiting)) expect(response.status).toBe(200);
    const [last] = await Promise.all([begin(client, waits[2] as Wait), answer(fleet, [[0.5]])]);
    expect(last.status).toBe(200);
  });

  test("a call that cancels a response does not count, so that an account at its limit can end one", async () => {
    const { client, model } = await newOpenAi();
    const background = { model, input: "Go on", background: true };
    const begun = await begin(client, { path: "/v1/vendora/responses", body: background });
    const { id } = await begun.json<{ id: string }>();
    const leaving = new AbortController();
    for (const wait of waitsOf(model).slice(0, 3)) void begin(client, wait, leaving.signal);
    await eventually(async () => expect(await countOf(client)).toBe(4));
    const path = `/v1/vendora/responses/${id}/cancel`;
    const canceled = await begin(client, { path, body: {} });
    expect([canceled.status, await canceled.json()]).toEqual([
      200,
      expect.objectContaining({ status: "cancelled" }),
    ]);
    leaving.abort();
  });

  test("a call that its client left no longer counts", async () => {
    const { client, model } = await newOpenAi();
    const leaving = new AbortController();
    for (const wait of waitsOf(model).slice(0, 3)) void begin(client, wait, leaving.signal);
    await eventually(async () => expect(await countOf(client)).toBe(3));
    const wait = { path: "/v1/predictions", body: { model, input: {} } };
    const short = { ...wait, headers: { prefer: "wait=1" } };
    expect((await begin(client, short)).status).toBe(429);
    leaving.abort();
    expect((await begin(client, short)).status).toBe(202);
  });
});

const revoke = ({ token }: Client) =>
  env.DB.prepare("DELETE FROM tokens WHERE prefix = ?")
    .bind(tokenPrefix(token ?? ""))
    .run();

describe("a run that has ended", () => {
  beforeEach(stopClock);

  const OUTPUT = "what nobody may read";

  test.each(sized([0, 3], [0, 1, 3, 4]))(
    "a run is not shown to a revoked token: wait %d",
    async (n) => {
      const { username, model, fleet } = await newOpenAi();
      const client = await newClient(username);
      const { path, body, headers } = waitsOf(model)[n] as Wait;
      const answering = client.post(path, body, headers);
      const { channel } = await fleet.work();
      await revoke(client);
      advance(10.001);
      await channel.report([{ event: "output", data: completion(OUTPUT) }], {
        status: "succeeded",
        output: "value",
      });
      const refused = await answering;
      const text = await refused.text();
      expect(refused.status).toBe(401);
      expect(text).not.toContain(OUTPUT);
      const why = expect.stringMatching(/unknown, expired or revoked/);
      expect(JSON.parse(text)).toMatchObject(
        path.includes("vendora")
          ? { error: { message: why, code: "invalid_api_key" } }
          : { detail: why, status: 401 },
      );
    },
  );

  test("a run is not shown to an account that was suspended meanwhile", async () => {
    const { username, client, model, fleet } = await newOpenAi();
    const answering = chat(client, model);
    const { channel } = await fleet.work();
    await operator.ok("PUT", `/v1/operator/users/${username}/suspension`);
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([{ event: "output", data: completion(OUTPUT) }], {
      status: "canceled",
      output: "items",
    });
    const refused = await answering;
    expect([refused.status, await refused.text()]).toEqual([
      401,
      expect.stringMatching(/This account is suspended/),
    ]);
  });

  test("a run is shown when D1 is down and the token cannot be checked", async () => {
    const { client, model, fleet } = await newOpenAi();
    const answering = chat(client, model);
    const { channel } = await fleet.work();
    advance(10.001);
    vi.spyOn(env.DB, "prepare").mockImplementation(() => {
      throw new Error("D1 is down");
    });
    await channel.report([{ event: "output", data: completion(OUTPUT) }], {
      status: "succeeded",
      output: "value",
    });
    expect(await (await answering).text()).toContain(OUTPUT);
  });
});

test("a short wait asks D1 for no token", async () => {
  stopClock();
  const { client, model, runner } = await newWorld();
  const one = await runner();
  await client.create({ model, input: {} });
  await (await one.work()).channel.succeed("a");
  const prepare = vi.spyOn(env.DB, "prepare");
  const answering = client.create({ model, input: {} }, { prefer: "wait=60" });
  await (await one.work()).channel.succeed("a");
  expect((await answering).status).toBe(200);
  const asked = prepare.mock.calls.map(([text]) => text);
  expect(asked.filter((text) => /\btokens\b/.test(text) && !/runner_tokens/.test(text))).toEqual(
    [],
  );
});
