/** The audit log of links, webhook endpoints, images and profiles. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { AuditEvent } from "../../../src/protocol/audit.ts";
import { removeAvatar, setAvatar } from "../../../src/services/accounts/avatars.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { callerOf, GIF, services } from "../support/accounts.ts";
import { actionsOf, entriesOf, everyEntry } from "../support/audit.ts";
import { ORIGIN } from "../support/client.ts";
import { newCustomer } from "../support/customer.ts";
import { addSecret, changeEndpoint, newEndpoint, WEBHOOK_ENDPOINTS } from "../support/endpoints.ts";
import { newOwnImages } from "../support/images.ts";
import { Repository } from "../support/registry.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

test("a link is recorded without its token, from its beginning to its end", async () => {
  const who = await newCustomer();
  const id = await who.waiting();
  const share = async () => {
    await who.visitor.look(`/predictions/${id}`);
    return who.visitor.send(`/predictions/${id}/share`, { days: "7" });
  };
  expect((await share()).status).toBe(409);
  const { channel } = await (await who.runner()).work();
  await channel.report([{ event: "output", data: "x" }], { status: "succeeded", output: "items" });
  const [token = ""] = /auss_\w+/.exec((await share()).html) ?? [];
  expect(token).not.toBe("");
  const link = await env.DB.prepare("SELECT id FROM shares WHERE prediction_id = ?")
    .bind(id)
    .first();
  for (const status of [303, 404])
    expect((await who.visitor.send(`/account/shares/${link?.id}/revoke`, {})).status).toBe(status);
  const [revoked, created, ...others] = await entriesOf(who.client, "?action=link.*");
  expect(others).toEqual([]);
  expect(created).toMatchObject({
    action: "link.created",
    targets: [
      { type: "link", id: link?.id, name: who.model },
      { type: "prediction", id, name: id },
    ],
    context: { session_id: expect.any(String) },
    changes: { after: { expires_at: expect.any(String) } },
  });
  expect(revoked).toMatchObject({ action: "link.revoked", targets: created?.targets });
  expect(await everyEntry()).not.toContain(token);
});

test("a webhook endpoint is recorded by the host of its URL, and its secrets by their IDs", async () => {
  const { client } = await newUser();
  const url = "http://127.0.0.1:91/secret-path";
  const { id, secret } = await newEndpoint(client, { url, events: ["completed"] });
  await changeEndpoint(client, id, { enabled: false, url: "http://127.0.0.1:92/secret-path" });
  const added = await addSecret(client, id);
  const secrets = `${WEBHOOK_ENDPOINTS}/${id}/secrets`;
  await client.ok("DELETE", `${secrets}/${added.id}`);
  expect((await client.fetch(`${secrets}/${added.id}`, { method: "DELETE" })).status).toBe(404);
  await client.ok("DELETE", `${WEBHOOK_ENDPOINTS}/${id}`);
  expect((await client.fetch(`${WEBHOOK_ENDPOINTS}/${id}`, { method: "DELETE" })).status).toBe(404);
  const entries = (await entriesOf(client, "?action=webhook_endpoint.*")).reverse();
  const at = (name: string) => ({ type: "webhook_endpoint", id, name });
  expect(entries.map(({ action, targets, changes }) => [action, targets[0], changes])).toEqual([
    [
      "webhook_endpoint.created",
      at("127.0.0.1:91"),
      expect.objectContaining({
        after: expect.objectContaining({
          host: "127.0.0.1:91",
          events: ["completed"],
          enabled: true,
        }),
      }),
    ],
    [
      "webhook_endpoint.updated",
      at("127.0.0.1:91"),
      {
        before: { enabled: true, host: "127.0.0.1:91" },
        after: { enabled: false, host: "127.0.0.1:92" },
      },
    ],
    [
      "webhook_endpoint.updated",
      at("127.0.0.1:92"),
      { before: { added_secret: null }, after: { added_secret: added.id } },
    ],
    [
      "webhook_endpoint.updated",
      at("127.0.0.1:92"),
      { before: { removed_secret: null }, after: { removed_secret: added.id } },
    ],
    ["webhook_endpoint.deleted", at("127.0.0.1:92"), null],
  ]);
  const all = await everyEntry();
  for (const hidden of ["secret-path", secret, added.secret]) expect(all).not.toContain(hidden);
});

test("one webhook endpoint too many is not recorded", async () => {
  const { client } = await newUser();
  for (let n = 0; n < 4; n++) await newEndpoint(client);
  expect((await client.post(WEBHOOK_ENDPOINTS, { url: "http://127.0.0.1:91/" })).status).toBe(409);
  expect(await actionsOf(client, "?action=webhook_endpoint.*")).toHaveLength(4);
});

test("an image that a client of the registry or the page of images deletes is recorded", async () => {
  const { visitor, model, images, client } = await newOwnImages();
  const digest = await images.push("latest", {});
  const repository = new Repository(client, model);
  for (const status of [202, 404])
    expect((await repository.send("DELETE", "manifests/latest")).status).toBe(status);
  await visitor.look("/account/images");
  await visitor.send(`/models/${model}/images/remove`, { reference: digest });
  await visitor.send(`/models/${model}/images/remove`, { reference: digest });
  const entries = await entriesOf(client, "?action=image.*");
  expect(entries.map(({ targets }) => targets.map((target) => target.name))).toEqual([
    [`${model}@${digest}`, model],
    [`${model}:latest`, model],
  ]);
});

test("a profile is recorded with its changed fields, also a new username and a picture", async () => {
  const world = await newWorld();
  const { client, user_id, username } = world;
  await client.ok("PATCH", "/v1/user", { name: "Ada" });
  await client.ok("PATCH", "/v1/user", {});
  const renamed = unique("renamed");
  await client.ok("PATCH", "/v1/user", { name: "Ada", username: renamed });
  const { username: taken } = await newUser();
  expect((await client.json("PATCH", "/v1/user", { username: taken })).status).toBe(409);
  await setAvatar(services, callerOf(world), GIF, ORIGIN);
  await removeAvatar(services, callerOf(world));
  const entries = (await entriesOf(client, "?action=user.updated")).reverse();
  const avatar_url = expect.stringMatching(/\/avatars\/.*[0-9a-f]{64}$/);
  expect(entries.map(({ targets: [user], changes }) => [user?.name, changes])).toEqual([
    [username, { before: { name: "" }, after: { name: "Ada" } }],
    [username, { before: { username }, after: { username: renamed } }],
    [renamed, { before: { avatar_url: "" }, after: { avatar_url } }],
    [renamed, { before: { avatar_url }, after: { avatar_url: "" } }],
  ]);
  for (const { targets } of entries)
    expect(targets[0]).toMatchObject({ type: "user", id: user_id });
});

test("the profile of an organization is recorded as a change of the organization", async () => {
  const { client } = await newUser();
  const username = unique("org");
  await client.ok("POST", "/v1/organizations", { username });
  await client.ok("PATCH", `/v1/organizations/${username}`, { name: "Acme" });
  const { items } = await operator.ok<Page<AuditEvent>>(
    "GET",
    `/v1/operator/audit_events?account=${username}&action=organization.updated`,
  );
  expect(items.map(({ targets: [one], changes }) => [one, changes])).toEqual([
    [
      { type: "organization", id: expect.any(String), name: username },
      { before: { name: "" }, after: { name: "Acme" } },
    ],
  ]);
});
