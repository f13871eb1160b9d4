/** The audit log of the deployment: categories, hardware, runners, look-ups and backups. */
import { env } from "cloudflare:workers";
import { afterAll, expect, test } from "vitest";
import type { AuditEvent } from "../../../src/protocol/audit.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { entriesOf } from "../support/audit.ts";
import {
  download,
  emptyDeployment,
  makeBackup,
  restore,
  upload,
  withKey,
  withoutKey,
} from "../support/backups.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { registered, revoke } from "../support/fleet.ts";
import { rowOf } from "../support/objects.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

afterAll(withoutKey);

/** Lists the entries of the deployment about a target, oldest first. */
async function entriesAbout(target: string): Promise<AuditEvent[]> {
  const path = `/v1/operator/audit_events?target=${target}`;
  return (await operator.ok<Page<AuditEvent>>("GET", path)).items.reverse();
}

test("a category is recorded when it is created, changed and deleted", async () => {
  const slug = unique("category");
  const path = `/v1/operator/categories/${slug}`;
  for (const name of ["Chat", "Talk"]) await operator.ok("PUT", path, { name, description: "x" });
  for (const status of [200, 404])
    expect((await operator.fetch(path, { method: "DELETE" })).status).toBe(status);
  const entries = await entriesAbout(slug);
  expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
    [
      "category.created",
      { before: { name: null, description: null }, after: { name: "Chat", description: "x" } },
    ],
    ["category.updated", { before: { name: "Chat" }, after: { name: "Talk" } }],
    ["category.deleted", null],
  ]);
  expect(entries.map(({ account_id }) => account_id)).toEqual([null, null, null]);
  expect(entries[0]?.targets).toEqual([{ type: "category", id: slug, name: slug }]);
});

test("hardware is recorded with its price before and after", async () => {
  const hardware = unique("hw");
  const path = `/v1/operator/hardware/${hardware}`;
  for (const price_per_hour of [1, 2])
    await operator.ok("PUT", path, { name: "GPU", price_per_hour });
  const { client } = await newUser();
  const model = { name: "poet", hardware_identifier: hardware };
  const { id } = await client.ok<{ id: string }>("POST", "/v1/models", model);
  expect((await operator.fetch(path, { method: "DELETE" })).status).toBe(409);
  await env.DB.prepare("UPDATE models SET hardware_identifier = NULL WHERE id = ?").bind(id).run();
  await operator.ok("DELETE", path);
  const entries = await entriesAbout(hardware);
  expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
    [
      "hardware.created",
      expect.objectContaining({
        after: expect.objectContaining({ name: "GPU", price_per_hour: "1" }),
      }),
    ],
    ["hardware.updated", { before: { price_per_hour: "1" }, after: { price_per_hour: "2" } }],
    ["hardware.deleted", null],
  ]);
});

test("a runner that is drained, resumed or asked for its log is recorded with the operator’s name", async () => {
  const { runner } = await registered();
  const { visitor, username } = await newOperator();
  await visitor.look("/fleet");
  await visitor.send(`/fleet/runners/${runner.id}/drain`, {});
  const path = `/v1/operator/runners/${runner.id}`;
  await operator.ok("POST", `${path}/resume`);
  await visitor.send(`/fleet/runners/${runner.id}/log`, {});
  expect((await operator.fetch(path, { method: "DELETE" })).status).toBe(409);
  const entries = await entriesAbout(runner.id);
  const [first] = entries;
  expect(entries.map(({ action, actor }) => [action, actor.type, actor.name])).toEqual([
    ["runner.drained", "operator", username],
    ["runner.resumed", "operator_token", "OPERATOR_TOKEN"],
    ["runner.log_requested", "operator", username],
  ]);
  expect(first).toMatchObject({ account_id: null, targets: [{ type: "runner", id: runner.id }] });
});

test("a removed runner is recorded once", async () => {
  const { runner, token } = await registered();
  await revoke(token);
  const path = `/v1/operator/runners/${runner.id}`;
  for (const status of [200, 404])
    expect((await operator.fetch(path, { method: "DELETE" })).status).toBe(status);
  expect((await entriesAbout(runner.id)).map(({ action }) => action)).toEqual(["runner.removed"]);
});

test("a drain that cannot be recorded is not made", async () => {
  const { runner } = await registered();
  const { visitor } = await newOperator();
  await visitor.look("/fleet");
  const failing =
    "CREATE TRIGGER full BEFORE INSERT ON audit_entries BEGIN SELECT raise(ABORT, 'full'); END";
  await env.DB.prepare(failing).run();
  const { status } = await visitor.send(`/fleet/runners/${runner.id}/drain`, {});
  await env.DB.prepare("DROP TRIGGER full").run();
  expect(status).toBe(503);
  expect(await operator.ok("GET", `/v1/operator/runners/${runner.id}`)).toMatchObject({
    draining: false,
  });
});

async function newRun() {
  const world = await newWorld();
  const id = await world.waiting({});
  await eventually(async () => expect(await rowOf(id)).toBeDefined());
  return { ...world, id };
}

test("a prediction that an operator looks up is in the log of its account", async () => {
  const { client, username, user_id, id } = await newRun();
  const { visitor, username: by } = await newOperator();
  await visitor.look(`/look-up?id=${id}&user=${username}`);
  await operator.ok("GET", `/v1/operator/users/${username}/predictions/${id}`);
  await operator.ok("GET", `/v1/operator/users/${username}/predictions/${id}/explain`);
  const { username: other } = await newUser();
  expect((await operator.fetch(`/v1/operator/users/${other}/predictions/${id}`)).status).toBe(404);
  const entries = (await entriesOf(client, "?action=prediction.viewed")).reverse();
  expect(entries.map(({ actor, account_id }) => [actor.name, account_id])).toEqual([
    [by, user_id],
    ["OPERATOR_TOKEN", user_id],
    ["OPERATOR_TOKEN", user_id],
  ]);
  expect(entries[0]?.targets).toEqual([{ type: "prediction", id, name: id }]);
  expect(entries[0]?.context).not.toHaveProperty("ip");
});

test("a search over accounts is recorded for the deployment", async () => {
  const { id } = await newRun();
  await operator.ok("GET", `/v1/operator/predictions/${id}`);
  expect(await entriesAbout(id)).toMatchObject([{ action: "prediction.viewed", account_id: null }]);
});

test("a look-up that cannot be recorded is refused", async () => {
  const { username, id } = await newRun();
  const failing =
    "CREATE TRIGGER full BEFORE INSERT ON audit_entries WHEN NEW.action = 'prediction.viewed' BEGIN SELECT raise(ABORT, 'full'); END";
  await env.DB.prepare(failing).run();
  const response = await operator.fetch(`/v1/operator/users/${username}/predictions/${id}`);
  await env.DB.prepare("DROP TRIGGER full").run();
  expect(response.status).toBe(503);
});

test("a backup is recorded when its manifest is read, and when its restore begins", async () => {
  withKey();
  const id = await makeBackup(60_000);
  const parts = await download(id);
  expect(parts.length).toBeGreaterThan(1);
  expect((await entriesAbout(id)).map(({ action }) => action)).toEqual(["backup.read"]);
  await emptyDeployment();
  await upload(id, parts);
  await restore(id);
  await restore(id);
  const restored = (await entriesAbout(id)).filter(({ action }) => action === "backup.restored");
  expect(restored).toHaveLength(1);
  expect(restored[0]?.targets).toEqual([{ type: "backup", id, name: id }]);
});
