/** The audit log of versions, variables, examples and shares of models. */
import { expect, test } from "vitest";
import type { Example } from "../../../src/protocol/example.ts";
import type { Version } from "../../../src/protocol/model.ts";
import { actionsOf, entriesOf, everyEntry } from "../support/audit.ts";
import { newModel, publish, referenceOf, VERSION } from "../support/catalogue.ts";
import { newExample, newPinnable } from "../support/examples.ts";
import { DIGEST, newUser, operator, unique } from "../support/world.ts";

async function newOwned() {
  const user = await newUser();
  const model = await newModel(user.client);
  const reference = referenceOf(model);
  const target = { type: "model", id: model.id, name: reference };
  return { ...user, reference, path: `/v1/models/${reference}`, target };
}

test("a version that is published, and one that is deleted, are recorded by its number", async () => {
  const { client, reference, path, target } = await newOwned();
  await publish(client, reference);
  const configuration = { variable_names: ["KEY"] };
  await publish(client, reference, { configuration, release_notes: "Faster", set_default: false });
  await client.ok("DELETE", `${path}/versions/2`);
  expect((await client.fetch(`${path}/versions/2`, { method: "DELETE" })).status).toBe(404);
  await publish(client, reference);
  const entries = (await entriesOf(client, "?action=version.*")).reverse();
  expect(entries.map(({ action, targets }) => [action, targets[0]?.name])).toEqual([
    ["version.created", `${reference}:1`],
    ["version.created", `${reference}:2`],
    ["version.deleted", `${reference}:2`],
    ["version.created", `${reference}:3`],
  ]);
  const [, second, deleted] = entries;
  expect(second?.targets).toEqual([
    { type: "version", id: expect.stringMatching(/^[0-9a-f]{64}$/), name: `${reference}:2` },
    target,
  ]);
  expect(deleted?.targets).toEqual(second?.targets);
  expect(second?.changes?.after).toEqual({
    release_notes: "Faster",
    set_default: false,
    container_image_digest: DIGEST,
    configuration,
  });
});

test("versions that are published at once are recorded with the number of each", async () => {
  const { client, reference, path } = await newOwned();
  const made = await Promise.all(Array.from({ length: 4 }, () => publish(client, reference)));
  const entries = await entriesOf(client, "?action=version.created");
  const names = entries.map(({ targets: [version] }) => version?.name).toSorted();
  expect(names).toEqual(made.map(({ number }: Version) => `${reference}:${number}`).toSorted());
  expect((await client.post(`${path}/versions`, { ...VERSION, release_notes: 1 })).status).toBe(
    422,
  );
  expect(await actionsOf(client, "?action=version.*")).toHaveLength(4);
});

test("the version that runs by default is not deleted, and nothing is recorded", async () => {
  const { client, reference, path } = await newOwned();
  for (const set_default of [true, false]) await publish(client, reference, { set_default });
  await client.ok("PATCH", path, { default_version: 1 });
  expect((await client.fetch(`${path}/versions/1`, { method: "DELETE" })).status).toBe(409);
  expect(await actionsOf(client, "?action=version.deleted")).toEqual([]);
});

test("clients of Replicate record the same actions", async () => {
  const { client, username } = await newUser();
  const hardware = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: hardware });
  const base = "/replicate/v1/models";
  const fields = { owner: username, name: "poet", visibility: "private", hardware };
  expect((await client.post(base, fields)).status).toBe(201);
  const path = `${base}/${username}/poet`;
  await client.ok("PATCH", path, { description: "Writes" });
  await publish(client, `${username}/poet`);
  expect((await client.fetch(`${path}/versions/1`, { method: "DELETE" })).ok).toBe(true);
  expect((await client.fetch(path, { method: "DELETE" })).status).toBe(204);
  expect(await actionsOf(client, `?target=${username}/poet`)).toEqual([
    "model.created",
    "model.updated",
    "version.created",
    "version.deleted",
    "model.deleted",
  ]);
});

test("variables are recorded by name, and no entry has a value", async () => {
  const { client, path, target } = await newOwned();
  const secret = "a-value-that-nobody-may-read";
  for (const value of [secret, `${secret}-2`])
    await client.ok("PUT", `${path}/variables/KEY`, { value });
  await client.ok("DELETE", `${path}/variables/KEY`);
  expect((await client.fetch(`${path}/variables/KEY`, { method: "DELETE" })).status).toBe(404);
  const entries = await entriesOf(client, "?action=variable.*");
  expect(entries.map(({ action }) => action).reverse()).toEqual([
    "variable.set",
    "variable.set",
    "variable.deleted",
  ]);
  for (const { targets, changes } of entries) {
    expect(targets).toEqual([{ type: "variable", id: "KEY", name: "KEY" }, target]);
    expect(changes).toBeNull();
  }
  expect(await everyEntry()).not.toContain(secret);
});

test("an example that is pinned and unpinned is recorded, with the run that it shows", async () => {
  const user = await newUser();
  const { owner, name, prediction_id } = await newPinnable(user);
  const path = `/v1/models/${owner}/${name}/examples`;
  const { id } = await user.client.ok<Example>("POST", path, { prediction_id });
  expect((await user.client.post(path, { prediction_id })).status).toBe(409);
  await user.client.ok("DELETE", `${path}/${id}`);
  const [deleted, created, ...others] = await entriesOf(user.client, "?action=example.*");
  expect(others).toEqual([]);
  expect(created).toMatchObject({
    action: "example.created",
    targets: [
      { type: "example", id, name: id },
      { type: "model", name: `${owner}/${name}` },
    ],
    changes: { after: { prediction_id } },
  });
  expect(deleted).toMatchObject({ action: "example.deleted", targets: created?.targets });
});

test("a change of an example is recorded as far as it changes something", async () => {
  const user = await newUser();
  const { owner, name, example } = await newExample(user);
  const path = `/v1/models/${owner}/${name}/examples/${example}`;
  await user.client.ok("PATCH", path, { position: 1 });
  await user.client.ok("PATCH", path, { position: 1 });
  await user.client.ok("PATCH", path, { is_cover: true });
  await user.client.ok("PATCH", path, { is_cover: false });
  await user.client.ok("PATCH", path, { is_cover: false });
  const entries = await entriesOf(user.client, "?action=example.*");
  expect(entries.map(({ changes }) => changes).reverse()).toEqual([
    { before: { position: 2 }, after: { position: 1 } },
    { before: { is_cover: false }, after: { is_cover: true } },
    { before: { is_cover: true }, after: { is_cover: false } },
  ]);
});

test("a share is in the log of the model's owner, from its beginning to its end", async () => {
  const { client, path, target } = await newOwned();
  const { client: guest, username, user_id } = await newUser();
  const share = `${path}/collaborators/${username}`;
  for (const level of ["run", "run", "write"]) await client.ok("PUT", share, { level });
  // The guest leaves.
  await guest.ok("DELETE", share);
  expect((await client.fetch(share, { method: "DELETE" })).status).toBe(404);
  const entries = (await entriesOf(client, "?action=collaborator.*")).reverse();
  expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
    ["collaborator.added", { before: { level: null }, after: { level: "run" } }],
    ["collaborator.updated", { before: { level: "run" }, after: { level: "write" } }],
    ["collaborator.removed", null],
  ]);
  for (const { targets } of entries)
    expect(targets).toEqual([{ type: "user", id: user_id, name: username }, target]);
  expect(entries.map(({ actor }) => actor.name)).toEqual([
    ...[target.name.split("/")[0], target.name.split("/")[0]],
    username,
  ]);
  expect(await actionsOf(guest, "?action=collaborator.*")).toEqual([]);
});

test("a version that a collaborator publishes is in the log of the model's owner", async () => {
  const { client, path, reference, user_id } = await newOwned();
  const { client: guest, username } = await newUser();
  await client.ok("PUT", `${path}/collaborators/${username}`, { level: "write" });
  await publish(guest, reference);
  const [entry] = await entriesOf(client, "?action=version.created");
  expect(entry).toMatchObject({ account_id: user_id, actor: { type: "user", name: username } });
});
