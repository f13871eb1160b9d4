/** Client tokens, for web pages: what they can do, what they cannot, and when they end. */
import { afterEach, describe, expect, test } from "vitest";
import { CHECK_MS } from "../../../src/domain/accounts/access.ts";
import type { ClientToken } from "../../../src/protocol/client-token.ts";
import { forgetTokens } from "../../../src/services/access/authentication.ts";
import { run } from "../support/accounts.ts";
import { newBudget, ranBefore, setPrice } from "../support/budgets.ts";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { EventReader } from "../support/events.ts";
import { fileUrl, uploaded } from "../support/files.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { newOrganization } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld, operator } from "../support/world.ts";

afterEach(startClock);

const ORIGIN = "https://app.example.com";

/** A web page of an origin, which sends its client token with every request. */
class Page extends Client {
  readonly origin: string | undefined;

  constructor(token: string, origin: string | undefined = ORIGIN) {
    super(token);
    this.origin = origin;
  }

  override fetch(path: string, init: Parameters<Client["fetch"]>[1] = {}): Promise<Response> {
    const headers = { ...(this.origin && { origin: this.origin }), ...init.headers };
    return super.fetch(path, { ...init, headers });
  }
}

const issue = (by: Client, body: object) =>
  by.ok<ClientToken>("POST", "/v1/client_tokens", { origins: [ORIGIN], ...body });

async function newPage(token: object = {}) {
  const world = await newWorld();
  const server = await newClient(world.username, { name: "server", ...token });
  const issued = await issue(server, { models: [world.model] });
  return { world, server, issued, page: new Page(issued.token) };
}

const create = async ({ page, world }: Awaited<ReturnType<typeof newPage>>) =>
  (await page.create({ model: world.model, input: {} })).body.id;

const statusOf = async (client: Client, path = "/v1/models") =>
  (await client.json("GET", path)).status;

describe("what a client token can do", () => {
  test("it runs its model, and reads, streams and cancels what it created", async () => {
    const at = await newPage();
    const { page, issued, world } = at;
    expect(issued).toMatchObject({ models: [world.model], origins: [ORIGIN] });
    const left = Date.parse(issued.expires_at) - Date.now();
    expect(left).toBeGreaterThan(590_000);
    expect(left).toBeLessThanOrEqual(600_000);
    const id = await create(at);
    expect(await page.ok("GET", `/v1/predictions/${id}`)).toMatchObject({ id });
    expect(await statusOf(page, `/v1/predictions/${id}/explain`)).toBe(200);
    const { status, body } = await page.fetch(`/v1/predictions/${id}/stream`);
    expect(status).toBe(200);
    await body?.cancel();
    expect((await page.post(`/v1/predictions/${id}/cancel`, {})).status).toBe(202);
    expect((await page.fetch(`/v1/predictions/${id}`, { method: "DELETE" })).status).toBe(200);
  });

  test("its predictions count for the token that issued it, and its owner sees them", async () => {
    const at = await newPage();
    const id = await create(at);
    const { items } = await at.world.client.ok<{ items: { id: string }[] }>(
      "GET",
      "/v1/predictions?token=server",
    );
    expect(items).toMatchObject([{ id }]);
    expect(await statusOf(at.server, `/v1/predictions/${id}`)).toBe(200);
  });

  test("its predictions name the member whose token issued it", async () => {
    const { model, join, client: owner } = await newOrganization();
    const ada = await join("developer");
    const page = new Page((await issue(ada.client, { models: [model] })).token);
    const { id } = (await page.create({ model, input: {} })).body;
    expect((await owner.get(id)).created_by).toBe(ada.username);
  });
});

describe("what a client token cannot do", () => {
  test("it reaches no prediction of another token, nor of another client token of the same", async () => {
    const at = await newPage();
    const { page, server, world } = at;
    const other = new Page((await issue(server, { models: [world.model] })).token);
    const theirs = [
      await world.waiting(),
      (await server.create({ model: world.model, input: {} })).body.id,
      (await other.create({ model: world.model, input: {} })).body.id,
    ];
    expect(await statusOf(page, `/v1/predictions/${await (await newWorld()).waiting()}`)).toBe(404);
    // The second look is at a location that the isolate knows by then.
    for (const id of [...theirs, ...theirs]) {
      for (const path of ["", "/explain", "/stream"])
        expect([path, await statusOf(page, `/v1/predictions/${id}${path}`)]).toEqual([path, 404]);
      expect((await page.post(`/v1/predictions/${id}/cancel`, {})).status).toBe(404);
      expect((await page.post(`/v1/predictions/${id}/stream_tokens`, {})).status).toBe(404);
      expect((await page.fetch(`/v1/predictions/${id}`, { method: "DELETE" })).status).toBe(404);
      await server.json("GET", `/v1/predictions/${id}`);
    }
    expect(await page.json("GET", "/v1/predictions")).toMatchObject({
      status: 403,
      body: { detail: "A client token cannot do this. Your server can, with an access token." },
    });
  });

  test("a key of another token returns no prediction of it", async () => {
    const { page, world } = await newPage();
    const key = { "idempotency-key": "k" };
    const body = { model: world.model, input: {} };
    const { id } = (await world.client.create(body, key)).body;
    const own = (await page.create(body, key)).body.id;
    expect(own).not.toBe(id);
    expect((await page.create(body, key)).body.id).toBe(own);
    expect((await world.client.create(body, key)).body.id).toBe(id);
  });

  test("it runs no other model, and says so", async () => {
    const { page, world } = await newPage();
    const other = await newModel(world.client);
    await publish(world.client, referenceOf(other));
    const { status, body } = await page.refused("/v1/predictions", {
      model: referenceOf(other),
      input: {},
    });
    expect([status, body]).toMatchObject([
      403,
      { detail: expect.stringMatching("This client token does not cover") },
    ]);
  });

  test("it calls no other endpoint", async () => {
    const { page, world } = await newPage();
    for (const path of [
      "/v1/user",
      "/v1/models",
      `/v1/models/${world.model}`,
      "/openai/v1/models",
      "/anthropic/v1/models",
      "/replicate/v1/predictions",
      "/v1/webhook-endpoints",
      "/v1/audit_events",
      `/v1/users/${world.username}`,
    ])
      expect([path, await statusOf(page, path)]).toEqual([path, 403]);
    const body = { model: world.model, messages: [{ role: "user", content: "x" }] };
    expect((await page.post("/openai/v1/chat/completions", body)).status).toBe(403);
    expect((await page.post("/v1/uploads", { name: "x", size: 1 })).status).toBe(403);
  });

  test("it creates no client token, and no more than its own stream tokens", async () => {
    const { page, world } = await newPage();
    const { status, body } = await page.refused("/v1/client_tokens", {
      models: [world.model],
      origins: [ORIGIN],
    });
    expect([status, body]).toMatchObject([
      403,
      { detail: expect.stringMatching("A token for web pages cannot create client tokens") },
    ]);
  });

  test("it sends no webhooks, and hides no run among start checks", async () => {
    const { page, world } = await newPage();
    for (const field of [
      { webhook: { url: "https://hooks.example.com/x" } },
      { start_check: true },
    ]) {
      const { status, body } = await page.refused("/v1/predictions", {
        model: world.model,
        input: {},
        ...field,
      });
      expect([status, body]).toMatchObject([
        403,
        { detail: expect.stringMatching("client token") },
      ]);
    }
  });

  test("it does not read an upload of the account by naming it as input", async () => {
    const world = await newWorld({
      input: { type: "object", properties: { file: { type: "string", format: "uri" } } },
    });
    const upload = await uploaded(world.client);
    const page = new Page((await issue(world.client, { models: [world.model] })).token);
    const url = new URL(fileUrl(upload));
    url.search = "";
    const body = { model: world.model, input: { file: url.href } };
    expect((await world.client.refused("/v1/predictions", body)).status).toBe(202);
    expect((await page.refused("/v1/predictions", body)).status).toBe(404);
  });

  test("it works for its origins alone, and not without one", async () => {
    const { issued, world } = await newPage();
    const body = { model: world.model, input: {} };
    for (const origin of ["https://evil.example.com", "null", "https://auspex.test"]) {
      const { status, body: refusal } = await new Page(issued.token, origin).refused(
        "/v1/predictions",
        body,
      );
      expect([status, refusal]).toMatchObject([403, { detail: expect.stringMatching(origin) }]);
    }
    const { status, body: refusal } = await new Client(issued.token).refused(
      "/v1/predictions",
      body,
    );
    expect([status, refusal]).toMatchObject([
      403,
      { detail: expect.stringMatching("this request has no header 'Origin'") },
    ]);
  });
});

describe("creating a client token", () => {
  test("a token without predict, or for web pages, creates none", async () => {
    const { world } = await newPage();
    const body = { models: [world.model], origins: [ORIGIN] };
    const reader = await newClient(world.username, { scopes: ["read", "write"] });
    expect((await reader.post("/v1/client_tokens", body)).status).toBe(403);
    const { token = "" } = await newClient(world.username, { limits: { origins: [ORIGIN] } });
    expect((await new Page(token).post("/v1/client_tokens", body)).status).toBe(403);
    const files = await newClient(world.username, { limits: { endpoints: ["files"] } });
    expect((await files.post("/v1/client_tokens", body)).status).toBe(403);
  });

  test("it names models that its token may run, and none that it cannot see", async () => {
    const { world, server } = await newPage();
    const other = referenceOf(await newModel(world.client));
    const hidden = (await newWorld()).model;
    const covering = async (by: Client, model: string) =>
      (await by.post("/v1/client_tokens", { models: [model], origins: [ORIGIN] })).status;
    const forOne = await newClient(world.username, { models: [world.model] });
    expect(await covering(forOne, world.model)).toBe(200);
    expect(await covering(forOne, other)).toBe(403);
    expect(await covering(server, hidden)).toBe(422);
  });

  test.each([
    [{ models: [] }],
    [{ origins: [] }],
    [{ origins: ["*"] }],
    [{ origins: ["https://app.example.com/"] }],
    [{ expires_in: 3_601 }],
    [{ expires_in: 0 }],
    [{ scopes: ["read"] }],
  ])("it is not created with %j", async (wrong) => {
    const { world, server } = await newPage();
    const body = { models: [world.model], origins: [ORIGIN], ...wrong };
    expect((await server.post("/v1/client_tokens", body)).status).toBe(422);
  });
});

describe("the end of a client token", () => {
  const ending = async (end: (at: Awaited<ReturnType<typeof newPage>>) => Promise<unknown>) => {
    stopClock();
    const at = await newPage();
    const id = await create(at);
    const path = `/v1/predictions/${id}`;
    expect(await statusOf(at.page, path)).toBe(200);
    await end(at);
    advance(10.1);
    return statusOf(at.page, path);
  };

  test("it ends when it expires, and no later than the token that issued it", async () => {
    stopClock();
    const soon = new Date(Date.now() + 60_000).toISOString();
    const { world, server } = await newPage({ expires_at: soon });
    const short = await issue(server, { models: [world.model], expires_in: 20 });
    const long = await issue(server, { models: [world.model], expires_in: 3_600 });
    expect(Date.parse(long.expires_at)).toBe(Date.parse(soon));
    const { id } = (await new Page(short.token).create({ model: world.model, input: {} })).body;
    advance(19);
    expect(await statusOf(new Page(short.token), `/v1/predictions/${id}`)).toBe(200);
    advance(1);
    expect(await statusOf(new Page(short.token), `/v1/predictions/${id}`)).toBe(401);
    expect(await statusOf(new Page(long.token), "/v1/predictions")).toBe(403);
    advance(40);
    expect(await statusOf(new Page(long.token), "/v1/predictions")).toBe(401);
  });

  test("it ends within 10 s of the revocation of its token", async () => {
    const status = await ending(({ world }) =>
      run("DELETE FROM tokens WHERE name = 'server' AND user_id = ?", world.user_id),
    );
    expect(status).toBe(401);
  });

  test("it ends within 10 s of the suspension of its account", async () => {
    const status = await ending(({ world }) =>
      operator.ok("PUT", `/v1/operator/users/${world.username}/suspension`),
    );
    expect(status).toBe(401);
  });

  test("a limit that its token gets later holds for it within 10 s", async () => {
    const limit = (limits: object) =>
      ending(({ world }) =>
        run(
          "UPDATE tokens SET limits = ? WHERE name = 'server' AND user_id = ?",
          JSON.stringify(limits),
          world.user_id,
        ),
      );
    expect(await limit({ endpoints: ["files"] })).toBe(403);
    expect(await limit({ origins: ["https://other.example.com"] })).toBe(403);
  });

  test("requests of its web pages count against the limits of its token", async () => {
    stopClock();
    const { world, server } = await newPage({ limits: { predictions_per_minute: 2 } });
    const pages = [0, 1, 2].map(
      async () => new Page((await issue(server, { models: [world.model] })).token),
    );
    const statuses = [];
    for (const page of await Promise.all(pages))
      statuses.push((await page.post("/v1/predictions", { model: world.model, input: {} })).status);
    expect(statuses).toEqual([202, 202, 429]);
  });

  test("its streams end when it expires, and those of another client token go on", async () => {
    stopClock();
    const check = holdTimers(CHECK_MS);
    const { world, server } = await newPage();
    const [short, long] = [
      new Page((await issue(server, { models: [world.model], expires_in: 5 })).token),
      new Page((await issue(server, { models: [world.model] })).token),
    ];
    const open = async (page: Page) => {
      const { id } = (await page.create({ model: world.model, input: {} })).body;
      return new EventReader((await page.stream(id)).body);
    };
    const [ended, going] = [await open(short), await open(long)];
    advance(5);
    check();
    let last = await ended.next();
    for (let next = last; next; next = await ended.next()) last = next;
    expect(last).toMatchObject({ event: "problem", data: { status: 401 } });
    await going.leave();
    forgetTokens();
  });
});

describe("what a client token may use in all", () => {
  const creates = (page: Page, model: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () => page.refused("/v1/predictions", { model, input: {} })),
    );
  const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).sort();

  test("the number of its predictions is exact, also for parallel ones, and a repeated key counts once", async () => {
    const { world, server } = await newPage();
    const issued = await issue(server, { models: [world.model], max_predictions: 3 });
    expect(issued).toMatchObject({ max_predictions: 3, budget: null });
    const page = new Page(issued.token);
    const body = { model: world.model, input: {} };
    const key = { "idempotency-key": "k" };
    const first = await page.create(body, key);
    expect((await page.create(body, key)).body.id).toBe(first.body.id);
    const answers = await creates(page, world.model, 5);
    expect(statuses(answers)).toEqual([202, 202, 402, 402, 402]);
    expect(answers.find(({ status }) => status === 402)?.body).toMatchObject({
      detail: "This client token allows 3 predictions, and all are used. Request another token.",
    });
    expect((await page.create(body, key)).body.id).toBe(first.body.id);
    await page.cancel(first.body.id);
    expect(statuses(await creates(page, world.model, 1))).toEqual([402]);
    const another = new Page((await issue(server, { models: [world.model] })).token);
    expect(statuses(await creates(another, world.model, 1))).toEqual([202]);
  });

  test("its budget is reserved before a prediction begins, and the refusal says what is left", async () => {
    const { world, server } = await newPage();
    await setPrice(world, "3600");
    await ranBefore(world, 20, "10");
    const issued = await issue(server, { models: [world.model], budget: "25.5" });
    expect(issued).toMatchObject({ max_predictions: null, budget: "25.5" });
    const page = new Page(issued.token);
    const answers = await creates(page, world.model, 4);
    expect(statuses(answers)).toEqual([202, 202, 402, 402]);
    expect(answers.find(({ status }) => status === 402)?.body.detail).toMatch(
      /^The budget of this client token .* 5\.5 .* of 25\.5 .* Request another token\.$/,
    );
  });

  test("a budget of the account refuses it, and tells a web page no amounts", async () => {
    const { world, page } = await newPage();
    await setPrice(world, "3600");
    await newBudget(world.client, { limit: "1" });
    const { status, body } = await page.refused("/v1/predictions", {
      model: world.model,
      input: {},
    });
    expect([status, body]).toMatchObject([
      402,
      {
        detail:
          "A budget of the account that issued this client token does not allow this prediction.",
      },
    ]);
  });
});

test("a made-up client token is refused, whatever it claims", async () => {
  const { issued, page } = await newPage();
  const { user_id } = await newUser();
  const [text = "", signature = ""] = issued.token.slice(5).split(".");
  const claims = JSON.parse(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
  const forge = (changed: object) =>
    `ausc_${btoa(JSON.stringify({ ...claims, ...changed })).replaceAll("=", "")}.${signature}`;
  expect(await statusOf(page, "/v1/predictions")).toBe(403);
  for (const token of [
    forge({ expires_at: 1e15 }),
    forge({ origins: ["https://evil.example.com"] }),
    forge({ issuer: user_id }),
    issued.token.replace("ausc_", "ause_"),
    issued.token.slice(0, -1),
    "ausc_x",
  ])
    expect(await statusOf(new Page(token), "/v1/predictions")).toBe(401);
});
