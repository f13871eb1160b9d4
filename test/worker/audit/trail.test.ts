/** The audit log: what is recorded, how it gets into the chain, and what finds a change of it. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import type { AuditEvent, AuditVerification } from "../../../src/protocol/audit.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { run, services } from "../support/accounts.ts";
import { actionsOf, entriesOf, inChain, moveEntries, tamper } from "../support/audit.ts";
import { Client } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, operator } from "../support/world.ts";

afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const DAY = 86_400;

/** A user whose account has some entries. */
async function newAccount(models = 2) {
  const user = await newUser();
  for (let n = 0; n < models; n++) await user.client.ok("POST", "/v1/models", { name: `m${n}` });
  return user;
}

const verify = (client: Client) => client.ok<AuditVerification>("GET", "/v1/audit_events/verify");

describe("entries", () => {
  test("an entry names its actor, target, context and changed fields", async () => {
    const { client, username, user_id } = await newAccount(1);
    await client.ok("PATCH", `/v1/models/${username}/m0`, { description: "new", overview: "" });
    const [entry] = await entriesOf(client);
    expect(entry).toEqual({
      id: expect.any(String),
      action: "model.updated",
      occurred_at: expect.any(String),
      account_id: user_id,
      actor: { type: "user", id: user_id, name: username },
      targets: [{ type: "model", id: expect.any(String), name: `${username}/m0` }],
      context: { token_id: expect.any(String), request_id: expect.any(String) },
      changes: { before: { description: "" }, after: { description: "new" } },
      sequence: null,
      hash: null,
    });
  });

  test("an entry has the address and the user agent of its request", async () => {
    const { client } = await newUser();
    const headers = { "cf-connecting-ip": "203.0.113.7", "user-agent": "curl/8" };
    await client.fetch("/v1/models", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ name: "poet" }),
    });
    const [entry] = await entriesOf(client);
    expect(entry?.context).toMatchObject({ ip: "203.0.113.7", user_agent: "curl/8" });
  });

  test("an entry is written with its change or not at all", async () => {
    const { client, username } = await newAccount(1);
    expect((await client.post("/v1/models", { name: "m0" })).status).toBe(409);
    const { id } = await operator.ok<{ id: string }>(
      "POST",
      `/v1/operator/users/${username}/tokens`,
      { name: "t" },
    );
    const path = `/v1/operator/tokens/${id}`;
    const statuses = await Promise.all([
      operator.fetch(path, { method: "DELETE" }),
      operator.fetch(path, { method: "DELETE" }),
    ]);
    expect(statuses.map(({ status }) => status).toSorted()).toEqual([200, 404]);
    const actions = await actionsOf(client);
    expect(actions.filter((one) => one === "model.created")).toHaveLength(1);
    expect(actions.filter((one) => one === "token.revoked")).toHaveLength(1);
  });

  test("a change whose entry cannot be written is not made", async () => {
    const { client, username } = await newAccount(1);
    await run(
      "CREATE TRIGGER full BEFORE INSERT ON audit_entries BEGIN SELECT raise(ABORT, 'full'); END",
    );
    try {
      expect((await client.fetch(`/v1/models/${username}/m0`, { method: "DELETE" })).status).toBe(
        500,
      );
    } finally {
      await run("DROP TRIGGER full");
    }
    await client.ok("GET", `/v1/models/${username}/m0`);
  });
});

describe("the chain", () => {
  test("a sweep moves entries to the chain of their account and of the deployment, and lists do not change", async () => {
    const { client, user_id } = await newAccount(3);
    const before = await entriesOf(client);
    await moveEntries();
    expect(await run("SELECT id FROM audit_entries WHERE account_id = ?", user_id)).toEqual([]);
    const after = await entriesOf(client);
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(after.map(({ sequence }) => sequence)).toEqual(after.map((_, n) => after.length - n));
    expect(await verify(client)).toEqual({
      valid: true,
      entries: after.length,
      pending: 0,
      head: { sequence: after.length, hash: after[0]?.hash },
      problem: null,
    });
    const all = await operator.ok<Page<AuditEvent>>(
      "GET",
      `/v1/operator/audit_events?account=${user_id}`,
    );
    expect(all.items.map(({ id }) => id)).toEqual(after.map(({ id }) => id));
    expect(await operator.ok("GET", "/v1/operator/audit_events/verify")).toMatchObject({
      valid: true,
    });
  });

  test("entries that a sweep could not delete are in the chain once", async () => {
    const { client, user_id } = await newAccount(2);
    const rows = await run("SELECT * FROM audit_entries WHERE account_id = ?", user_id);
    await moveEntries();
    for (const row of rows) {
      const values = Object.values(row);
      await run(
        `INSERT INTO audit_entries VALUES (${values.map(() => "?").join(", ")})`,
        ...values,
      );
    }
    const listed = await entriesOf(client);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
    expect(listed.every(({ sequence }) => sequence !== null)).toBe(true);
    await moveEntries();
    expect(await entriesOf(client)).toEqual(listed);
    expect(await verify(client)).toMatchObject({ valid: true, entries: listed.length });
  });

  test.each([
    ["UPDATE audit_entries SET actor_name = 'eve' WHERE sequence = 2", "Entry 2 "],
    ["UPDATE audit_entries SET changes = NULL WHERE sequence = 1", "Entry 1 "],
    ["UPDATE audit_entries SET context = '{}' WHERE sequence = 3", "Entry 3 "],
    ["DELETE FROM audit_entries WHERE sequence = 2", "Entry 2 is missing"],
    ["DELETE FROM audit_entries WHERE sequence = 3", "The newest entries are missing"],
  ])("a verification finds: %s", async (statement, problem) => {
    const { client, user_id } = await newAccount(3);
    await moveEntries();
    await tamper(user_id, "DELETE FROM audit_entries WHERE sequence > 3");
    await tamper(user_id, statement);
    const found = await verify(client);
    expect(found.valid).toBe(false);
    if (!problem.startsWith("The newest")) expect(found.problem).toContain(problem);
  });

  test("a verification finds a chain that was written anew without SECRET_KEY", async () => {
    const { client, user_id, username } = await newAccount(2);
    await moveEntries();
    const { secretKeys } = services.settings;
    const { head } = await verify(client);
    await inChain(user_id, (_, { storage }) =>
      storage.kv.put("head", { ...head, signature: "0".repeat(64) }),
    );
    expect(await verify(client)).toMatchObject({
      valid: false,
      problem: expect.stringContaining("SECRET_KEY"),
    });
    expect(secretKeys).toHaveLength(1);
    await operator.ok("POST", `/v1/operator/users/${username}/tokens`, { name: "later" });
    await moveEntries();
    expect(await verify(client)).toMatchObject({ valid: false, pending: 0 });
  });

  test("a verification finds that entries were removed as if they were old", async () => {
    const { client, user_id } = await newAccount(2);
    await moveEntries();
    await inChain(user_id, (_, { storage }) => {
      storage.kv.put("base", storage.kv.get("head"));
      storage.sql.exec("DELETE FROM audit_entries");
    });
    expect(await verify(client)).toMatchObject({
      valid: false,
      problem: expect.stringContaining("The beginning of the chain is not signed"),
    });
  });

  test("a verification finds that another account's chain took the place of a chain", async () => {
    const [{ client, user_id }, other] = [await newAccount(2), await newAccount(1)];
    await moveEntries();
    await run(
      `UPDATE audit_chains SET object_id =
        (SELECT object_id FROM audit_chains WHERE account_id = ?) WHERE account_id = ?`,
      other.user_id,
      user_id,
    );
    expect(await verify(client)).toMatchObject({
      valid: false,
      problem: expect.stringContaining("The end of the chain is not signed"),
    });
  });

  test("old entries are deleted, and the chain begins again from a signed place", async () => {
    stopClock();
    const { client, user_id, username } = await newAccount(2);
    await moveEntries();
    const { entries } = await verify(client);
    advance(300 * DAY);
    const { token } = await operator.ok<{ token: string }>(
      "POST",
      `/v1/operator/users/${username}/tokens`,
      { name: "later" },
    );
    await moveEntries();
    advance(101 * DAY);
    await inChain(user_id, (object) => object.alarm());
    const later = new Client(token);
    expect(await actionsOf(later)).toEqual(["token.created"]);
    expect(await verify(later)).toMatchObject({
      valid: true,
      entries: 1,
      head: { sequence: entries + 1 },
    });
    await inChain(user_id, (_, { storage }) =>
      storage.kv.put("base", { sequence: entries, hash: "", signature: "" }),
    );
    expect(await verify(later)).toMatchObject({ valid: false });
  });
});

test("a chain that is too large loses its oldest entries, and keeps the newest", async () => {
  const { client, user_id } = await newAccount(4);
  await moveEntries();
  await inChain(user_id, async (object) => {
    const ofObjects = settings(Reflect.get(object, "env"));
    const { auditBytes } = ofObjects;
    Object.assign(ofObjects, { auditBytes: 1 });
    await object.alarm();
    Object.assign(ofObjects, { auditBytes });
  });
  const left = await entriesOf(client);
  expect(left.map(({ targets }) => targets[0]?.name.split("/").at(-1))).toEqual(["m3"]);
  expect(await verify(client)).toMatchObject({ valid: true, entries: 1 });
});

describe("lists", () => {
  test.each([false, true])("filter entries that are in the chain: %s", async (moved) => {
    const { client, username } = await newAccount(2);
    await client.ok("PATCH", `/v1/models/${username}/m1`, { description: "x" });
    if (moved) await moveEntries();
    expect(await actionsOf(client, "?action=model.*")).toEqual([
      "model.created",
      "model.created",
      "model.updated",
    ]);
    expect(await actionsOf(client, "?action=model.updated")).toEqual(["model.updated"]);
    expect(await actionsOf(client, `?target=${username}/m1`)).toContain("model.updated");
    expect(await actionsOf(client, `?target=${username}/m0`)).toEqual(["model.created"]);
    expect(await actionsOf(client, `?actor=${username}`)).toHaveLength(3);
    expect(await actionsOf(client, "?actor=eve")).toEqual([]);
    const now = new Date(Date.now() + 1).toISOString();
    expect(await actionsOf(client, `?after=${now}`)).toEqual([]);
    expect(await actionsOf(client, `?before=${now}&action=model.updated`)).toHaveLength(1);
    expect((await client.fetch("/v1/audit_events?action=model")).status).toBe(422);
    expect((await client.fetch("/v1/audit_events?actors=eve")).status).toBe(422);
  });

  test("pages go across what is in the chain and what is not", async () => {
    const { client } = await newAccount(6);
    await moveEntries();
    for (const name of ["a", "b", "c"]) await client.ok("POST", "/v1/models", { name });
    const seen: string[] = [];
    let url: string | null = "/v1/audit_events?page_size=5&action=model.*";
    while (url !== null) {
      const page: Page<AuditEvent> = await client.ok("GET", url);
      seen.push(...page.items.map(({ targets: [model] }) => model?.name ?? ""));
      url = page.next_url;
    }
    expect(seen.map((name) => name.split("/").at(-1))).toEqual([
      "c",
      "b",
      "a",
      "m5",
      "m4",
      "m3",
      "m2",
      "m1",
      "m0",
    ]);
  });

  test("an export has every entry as a line, and is itself recorded", async () => {
    const { client } = await newAccount(2);
    await moveEntries();
    const response = await client.fetch("/v1/audit_events/export?action=model.*");
    expect(response.headers.get("content-type")).toBe("application/jsonl");
    const lines = (await response.text()).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ action: "model.created" }),
      expect.objectContaining({ action: "model.created" }),
      { type: "end", entries: 2 },
    ]);
    expect(await actionsOf(client, "?action=audit.exported")).toHaveLength(1);
  });

  test("the log is closed to other accounts, to visitors and to tokens for some models", async () => {
    const { client, username } = await newAccount(1);
    const limited = await newClient(username, { models: [`${username}/m0`] });
    for (const path of ["", "/verify", "/export"]) {
      const address = `/v1/audit_events${path}`;
      expect((await new Client(undefined).fetch(address)).status).toBe(401);
      expect((await limited.fetch(address)).status).toBe(403);
      expect((await client.fetch(`/v1/operator/audit_events${path}`)).status).toBe(403);
    }
    const { client: other } = await newUser();
    expect(await actionsOf(other, "?action=model.*")).toEqual([]);
  });
});

test("each use of OPERATOR_TOKEN is recorded, and refused while it cannot be", async () => {
  await operator.ok("GET", "/v1/operator/backups");
  const uses = await operator.ok<Page<AuditEvent>>(
    "GET",
    "/v1/operator/audit_events?action=operator_token.used&page_size=5",
  );
  expect(uses.items.map(({ targets }) => targets[0]?.name)).toContain("GET /v1/operator/backups");
  expect(uses.items[0]?.actor).toEqual({ type: "operator_token", id: "", name: "OPERATOR_TOKEN" });
  vi.spyOn(env.DB, "prepare").mockImplementation(() => {
    throw new Error("D1_ERROR: down");
  });
  const refused = await operator.fetch("/v1/operator/backups");
  expect(refused.status).toBe(503);
});
