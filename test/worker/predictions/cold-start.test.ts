/** D1 queries of an isolate before a job is on its way: one round trip, then none while caches are warm. */
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { newToken } from "../../../src/domain/accounts/token.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { Client } from "../support/client.ts";
import { newDeployment } from "../support/deployments.ts";
import { eventually } from "../support/eventually.ts";
import { isCheap, planOf } from "../support/query-plans.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld } from "../support/world.ts";

beforeAll(stopClock);
afterAll(startClock);
afterEach(() => vi.restoreAllMocks());

/** Caches of an isolate are at most 10 s old, so 11 s empty them. */
const forgetAll = () => advance(11);

const METHODS = ["all", "first", "raw", "run"] as const;

/** @returns a function that returns the statements of each round trip to D1 since */
function trips(): () => string[][] {
  const statement: D1PreparedStatement = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));
  const textOf = (one: unknown) => String(Object(one).statement);
  const alone = METHODS.map((method) => vi.spyOn(statement, method));
  const batch = vi.spyOn(env.DB, "batch");
  return () => [
    ...alone.flatMap(({ mock }) => mock.contexts.map((one) => [textOf(one)])),
    ...batch.mock.calls.map(([statements]) => statements.map(textOf)),
  ];
}

const isWrite = ([text = ""]: string[]) => /^(?:insert|update) /i.test(text);

const post = (client: Client, path: string, body: object, init: RequestInit = {}) =>
  client.fetch(path, {
    ...init,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** @returns the round trips to D1 until the row of a new prediction was written */
async function asked(client: Client, path: string, body: object): Promise<string[][]> {
  const told = trips();
  const put = vi.spyOn(AccountObject.prototype, "put");
  const leaving = new AbortController();
  // No runner is there to answer the create, so `leaving` aborts it.
  const answering = post(client, path, body, { signal: leaving.signal }).catch(() => {});
  await eventually(() => expect(put).toHaveBeenCalled());
  leaving.abort();
  await answering;
  const reads = told().filter((trip) => !isWrite(trip));
  vi.restoreAllMocks();
  return reads;
}

const messages = [{ role: "user", content: "Who is the Mad Hatter?" }];

const WAYS: [string, string, object][] = [
  ["by name", "predictions", { model: "MODEL", input: {} }],
  ["by name and number", "predictions", { model: "MODEL:1", input: {} }],
  ["as a stream", "predictions", { model: "MODEL", input: {}, stream: true }],
  ["under its model", "models/MODEL/predictions", { input: {} }],
  ["under its version", "models/MODEL/versions/1/predictions", { input: {} }],
  ["as a chat", "vendora/chat/completions", { model: "MODEL", messages }],
  ["as embeddings", "vendora/embeddings", { model: "MODEL:1", input: "Hatter" }],
  ["as a response", "vendora/responses", { model: "MODEL", input: "Hatter" }],
];

const compatibilities = {
  vendora_chat_completions: true,
  vendora_embeddings: true,
  vendora_responses: true,
};

describe.each(["private", "public"] as const)("a %s model", async (visibility) => {
  const { client, model } = await newWorld({ visibility, compatibilities });

  test.each(WAYS)("a model that is run %s is looked up with the token", async (_, path, body) => {
    const order: [string, object] = [
      `/v1/${path.replace("MODEL", model)}`,
      JSON.parse(JSON.stringify(body).replace("MODEL", model)),
    ];
    forgetAll();
    expect(await asked(client, ...order)).toHaveLength(1);
    expect(await asked(client, ...order)).toEqual([]);
    advance(9);
    expect(await asked(client, ...order)).toEqual([]);
  });
});

test("a model of another account is looked up with the token", async () => {
  const { model } = await newWorld({ visibility: "public" });
  const { client } = await newUser();
  expect(await asked(client, "/v1/predictions", { model, input: {} })).toHaveLength(1);
});

test("a deployment takes a second round trip, and none while caches are warm", async () => {
  const { client, username, model } = await newWorld();
  const { name } = await newDeployment(client, { model });
  const order = ["/v1/predictions", { model: `${username}/${name}`, input: {} }] as const;
  forgetAll();
  expect(await asked(client, ...order)).toHaveLength(2);
  expect(await asked(client, ...order)).toEqual([]);
});

test("a token that is known leaves one round trip for model and version", async () => {
  const { client, model } = await newWorld();
  await client.json("GET", "/v1/predictions");
  const reads = await asked(client, "/v1/predictions", { model: `${model}:1`, input: {} });
  const models = reads.filter((trip) => trip.some((text) => text.includes('from "models"')));
  expect(models).toHaveLength(1);
  // The facts of the account may be a second round trip.
  expect(reads.length).toBeLessThanOrEqual(2);
});

test("every statement of a cold create searches an index", async () => {
  const { client, model } = await newWorld({ visibility: "public" });
  const [statements = []] = await asked(client, "/v1/predictions", { model, input: {} });
  for (const sql of statements) {
    const dear = (await planOf(sql)).filter((step) => !isCheap(step));
    expect({ sql, dear }).toEqual({ sql, dear: [] });
  }
});

describe("the body of an unknown sender", () => {
  /** A stream has no content-length. */
  const streamed = (text: string) =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });

  test.each([
    ["that is large", "x".repeat(64 * 1024), (text: string) => text],
    ["without a length", "x", streamed],
  ])("a body %s is read only after its token is known", async (_, prompt, bodyOf) => {
    const { client, model } = await newWorld();
    forgetAll();
    const told = trips();
    const response = await client.fetch("/v1/predictions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: bodyOf(JSON.stringify({ model, input: { prompt } })),
    });
    expect(response.status).toBe(202);
    const [first, ...rest] = told().filter((trip) => !isWrite(trip));
    expect(first).toEqual([expect.stringMatching(/from "tokens"/)]);
    expect(rest.length).toBeGreaterThan(0);
  });
});

describe("a token that does not exist", () => {
  const stranger = () => new Client(newToken("aus"));

  /** Returns D1's statements and read rows for a request of an unknown token, and the answer. */
  async function refused(path: string, body: object) {
    const batch = vi.spyOn(env.DB, "batch");
    const told = trips();
    const response = await post(stranger(), path, body);
    const { request_id: _, ...answer } = await response.json<Record<string, unknown>>();
    const results: D1Result[][] = await Promise.all(batch.mock.results.map(({ value }) => value));
    const trip = told();
    vi.restoreAllMocks();
    return {
      status: response.status,
      answer,
      trip,
      rows: results.flat().map(({ meta }) => meta.rows_read),
    };
  }

  test("a request with an unknown token is refused after the same work, whatever the model is", async () => {
    const shown = await newWorld({ visibility: "public", compatibilities });
    const hidden = await newWorld({ compatibilities });
    const absent = `${shown.username}/nothing`;
    for (const [, path, body] of WAYS) {
      const answers = [];
      for (const model of [shown.model, hidden.model, absent, "nobody/nothing"]) {
        const text = JSON.stringify(body).replace("MODEL", model);
        answers.push(await refused(`/v1/${path.replace("MODEL", model)}`, JSON.parse(text)));
      }
      expect(answers[0]?.status).toBe(401);
      expect(answers[0]?.trip).toHaveLength(1);
      expect(answers[0]?.rows).toHaveLength(5);
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    }
  });
});
