/** Models that are shared with users and organizations. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deleteAccount, sweepAccounts } from "../../../src/services/accounts/delete-account.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { run, services } from "../support/accounts.ts";
import { VERSION } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { exported, linesIn, ofType } from "../support/export.ts";
import { rowOfUpload, uploaded } from "../support/files.ts";
import {
  listed,
  type Named,
  newOrganization,
  pathOf,
  share,
  unshare,
} from "../support/organizations.ts";
import { Repository } from "../support/registry.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld, operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const STALE = 10.001;

const bytes = async (
  table: "account_bytes" | "file_bytes" | "registry_bytes",
  userId: string,
): Promise<number> =>
  (await env.DB.prepare(`SELECT bytes FROM ${table} WHERE user_id = ?`)
    .bind(userId)
    .first<number>("bytes")) ?? 0;

describe("a share", () => {
  test("a model is shared, its level is changed, and the share is ended", async () => {
    const { client, model } = await newWorld();
    const friend = await newUser();
    const seen = async () => (await friend.client.fetch(`/v1/models/${model}`)).status;
    const runs = async () =>
      (await friend.client.refused("/v1/predictions", { model, input: {} })).status;
    expect([await seen(), await runs()]).toEqual([404, 404]);
    const first = await share(client, model, friend, "run");
    expect(first.body).toMatchObject({ account: { username: friend.username }, level: "run" });
    advance(1);
    const again = await share(client, model, friend, "write");
    expect(again.body).toEqual({ ...first.body, level: "write" });
    expect(await listed(client, model)).toEqual([again.body]);
    expect([await seen(), await runs()]).toEqual([200, 202]);
    expect((await unshare(client, model, friend)).status).toBe(200);
    expect((await unshare(client, model, friend)).status).toBe(404);
    expect([await seen(), await runs()]).toEqual([404, 404]);
    expect(await listed(client, model)).toEqual([]);
  });

  test("a model is shared neither with its owner nor with an unknown or suspended account", async () => {
    const { client, model, username } = await newWorld();
    const suspended = await newUser();
    await operator.ok("PUT", `/v1/operator/users/${suspended.username}/suspension`);
    const [own, held, unknown] = [
      await share(client, model, { username }, "run"),
      await share(client, model, suspended, "run"),
      await share(client, model, { username: "nobody-at-all" }, "run"),
    ];
    expect([own.status, held.status, unknown.status]).toEqual([409, 409, 404]);
    expect(own.body.detail).toContain("owns this model");
    expect(held.body.detail).toContain("is suspended");
    expect(unknown.body.detail).toContain("nobody-at-all");
  });

  test("a collaborator leaves, and cannot share the model or see its collaborators", async () => {
    const { client, model } = await newWorld();
    const [friend, other] = [await newUser(), await newUser()];
    await share(client, model, friend, "write");
    await share(client, model, other, "run");
    expect((await friend.client.fetch(pathOf(model))).status).toBe(403);
    expect((await share(friend.client, model, await newUser(), "run")).status).toBe(403);
    expect((await share(friend.client, model, friend, "write")).status).toBe(403);
    expect((await unshare(friend.client, model, other)).status).toBe(403);
    expect((await unshare(friend.client, model, friend)).status).toBe(200);
    expect((await unshare(friend.client, model, friend)).status).toBe(404);
    expect(await listed(client, model)).toMatchObject([{ account: { username: other.username } }]);
  });

  test("admins share the models of an organization, and admins of another leave them", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const [admin, dev] = [await organization.join("admin"), await organization.join("developer")];
    const { model } = organization;
    expect((await share(dev.client, model, other, "write")).status).toBe(403);
    expect((await dev.client.fetch(pathOf(model))).status).toBe(403);
    expect((await share(admin.client, model, other, "write")).body.account).toMatchObject({
      kind: "organization",
    });
    const [member, lead] = [await other.join("member"), await other.join("admin")];
    const create = async (by: Client) =>
      (await by.refused("/v1/predictions", { model, input: {} })).status;
    expect(await create(member.client)).toBe(202);
    // A share with an organization is no share with its members.
    expect(await create(member.own)).toBe(404);
    expect((await unshare(member.client, model, other)).status).toBe(403);
    expect((await unshare(lead.client, model, other)).status).toBe(200);
    expect(await create(member.client)).toBe(404);
  });

  test("an admin who was demoted a moment ago shares nothing", async () => {
    const organization = await newOrganization();
    const admin = await organization.join("admin");
    expect((await admin.client.fetch("/v1/user")).status).toBe(200);
    await run("UPDATE members SET role = 'developer' WHERE user_id = ?", admin.user_id);
    const friend = await newUser();
    expect((await share(admin.client, organization.model, friend, "write")).status).toBe(403);
  });

  test("a share is kept while the model is public, and when the model or its owner is renamed", async () => {
    const world = await newWorld({ visibility: "public" });
    const { client, username } = world;
    const friend = await newUser();
    expect((await share(client, world.model, friend, "run")).status).toBe(200);
    await client.ok("PATCH", `/v1/models/${world.model}`, { visibility: "private", name: "tale" });
    await client.ok("PATCH", "/v1/user", { username: `${username}-x` });
    advance(STALE);
    const model = `${username}-x/tale`;
    expect((await friend.client.refused("/v1/predictions", { model, input: {} })).status).toBe(202);
    expect((await (await newUser()).client.fetch(`/v1/models/${model}`)).status).toBe(404);
  });

  test("a token without write and a token for another model share nothing", async () => {
    const { client, model, username } = await newWorld();
    const friend = await newUser();
    await client.ok("POST", "/v1/models", { name: "other" });
    const reader = await newClient(username, { scopes: ["read", "predict"] });
    const limited = await newClient(username, { models: [`${username}/other`] });
    const covered = await newClient(username, { models: [model] });
    expect((await share(reader, model, friend, "run")).status).toBe(403);
    expect((await share(limited, model, friend, "run")).status).toBe(403);
    expect((await share(covered, model, friend, "run")).status).toBe(200);
  });
});

describe("a collaborator at write", () => {
  const versionOf = (weights?: { file: string; target: string }[]) => ({
    ...VERSION,
    ...(weights && { configuration: { weights } }),
  });

  test("a collaborator at write edits texts, and nothing that only the owner may", async () => {
    const { client, model } = await newWorld();
    const friend = await newUser();
    await share(client, model, friend, "write");
    const path = `/v1/models/${model}`;
    const patch = async (body: object) => (await friend.client.json("PATCH", path, body)).status;
    const texts = { description: "A story", overview: "# Story", paper_url: null };
    expect(await patch(texts)).toBe(200);
    expect(await client.ok("GET", path)).toMatchObject(texts);
    for (const change of [
      { visibility: "public" },
      { name: "mine" },
      { hardware_identifier: "cpu" },
      { category_slugs: [] },
      { default_version: 1 },
    ])
      expect(await patch({ description: "x", ...change })).toBe(403);
    await share(client, model, friend, "run");
    expect(await patch(texts)).toBe(403);
  });

  test("a version of a collaborator runs at once for the owner, and keeps to the owner's storage quota", async () => {
    const { client, model, user_id } = await newWorld();
    const friend = await newUser();
    await share(client, model, friend, "write");
    await client.create({ model, input: {} });
    const publish = (by: Client) =>
      by.json<{ number: number; detail: string }>(
        "POST",
        `/v1/models/${model}/versions`,
        versionOf(),
      );
    const before = await bytes("account_bytes", user_id);
    const theirs = await bytes("account_bytes", friend.user_id);
    const { body } = await publish(friend.client);
    expect(body.number).toBe(2);
    expect(await bytes("account_bytes", user_id)).toBeGreaterThan(before);
    expect(await bytes("account_bytes", friend.user_id)).toBe(theirs);
    const made = await client.create({ model, input: {} });
    expect(made.body.model.version_number).toBe(2);
    const full = services.settings.accountBytes;
    await run("UPDATE account_bytes SET bytes = ? WHERE user_id = ?", full, friend.user_id);
    expect((await publish(friend.client)).status).toBe(200);
    await run("UPDATE account_bytes SET bytes = ? WHERE user_id = ?", full, user_id);
    const refused = await publish(friend.client);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining("has reached its storage quota"),
    ]);
  });

  test("an upload that a collaborator publishes becomes the owner's, and outlives the collaborator's account", async () => {
    const { client, model, user_id } = await newWorld();
    const friend = await newUser();
    await share(client, model, friend, "write");
    const { id } = await uploaded(friend.client, "weights");
    const unused = await uploaded(friend.client, "other");
    const publish = (by: Client, files: string[]) =>
      by.json<{ detail: object[] }>(
        "POST",
        `/v1/models/${model}/versions`,
        versionOf(files.map((file, n) => ({ file, target: `/w/${n}` }))),
      );
    expect((await publish(friend.client, [id])).status).toBe(200);
    const [kept, left] = [await rowOfUpload(id), await rowOfUpload(unused.id)];
    expect([kept?.user_id, left?.user_id]).toEqual([user_id, friend.user_id]);
    expect(await bytes("file_bytes", user_id)).toBe("weights".length);
    expect(await bytes("file_bytes", friend.user_id)).toBe("other".length);
    expect((await client.fetch(`/v1/uploads/${id}`)).status).toBe(200);
    expect((await friend.client.fetch(`/v1/uploads/${id}`)).status).toBe(404);
    // The next version may name it again, beside a new one.
    expect((await publish(friend.client, [id, unused.id])).status).toBe(200);
    expect((await publish(client, [id, unused.id])).status).toBe(200);
    await deleteAccount(services, friend);
    await sweepAccounts(services, Date.now());
    expect((await client.fetch(`/v1/uploads/${unused.id}`)).status).toBe(200);
    // Uploads of the owner that no version of the model names are not the collaborator's to publish.
    const late = await newUser();
    await share(client, model, late, "write");
    const secret = await uploaded(client, "secret");
    expect((await publish(late.client, [secret.id])).status).toBe(422);
  });

  test("an upload of a collaborator's own model, or one too large for the owner's quota, is not published elsewhere", async () => {
    const { client, model, user_id } = await newWorld();
    const friend = await newWorld();
    await share(client, model, friend, "write");
    const { id } = await uploaded(friend.client, "weights");
    const body = versionOf([{ file: id, target: "/w" }]);
    await friend.client.ok("POST", `/v1/models/${friend.model}/versions`, body);
    const publish = (file: string) =>
      friend.client.json<{ detail: unknown }>(
        "POST",
        `/v1/models/${model}/versions`,
        versionOf([{ file, target: "/w" }]),
      );
    const used = await publish(id);
    expect(used.status).toBe(422);
    expect(JSON.stringify(used.body.detail)).toContain(`is used by ${friend.model}`);
    expect((await rowOfUpload(id))?.user_id).toBe(friend.user_id);
    const { id: large } = await uploaded(friend.client, "weights");
    await run("INSERT INTO file_bytes VALUES (?, ?)", user_id, services.settings.fileBytes);
    const refused = await publish(large);
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain("model's owner");
    expect((await rowOfUpload(large))?.user_id).toBe(friend.user_id);
  });

  test("a collaborator pushes and pulls the image, whose bytes are the owner's, and deletes none", async () => {
    const { client, model, user_id } = await newWorld();
    const [friend, reader] = [await newUser(), await newUser()];
    await share(client, model, friend, "write");
    await share(client, model, reader, "run");
    const theirs = new Repository(friend.client, model);
    const { digest } = await theirs.pushImage();
    expect(await bytes("registry_bytes", user_id)).toBeGreaterThan(0);
    expect(await bytes("registry_bytes", friend.user_id)).toBe(0);
    const manifests = `/v2/${model}/manifests/${digest}`;
    const status = async (by: Client, method: string) =>
      (await by.fetch(manifests, { method })).status;
    expect(await status(friend.client, "GET")).toBe(200);
    expect(await status(friend.client, "DELETE")).toBe(403);
    expect(await status(reader.client, "GET")).toBe(403);
    await share(client, model, friend, "run");
    expect(await status(friend.client, "GET")).toBe(403);
    await unshare(client, model, friend);
    expect(await status(friend.client, "GET")).toBe(404);
    expect(await status(client, "DELETE")).toBe(202);
  });

  test("a collaborator pins their own run as an example, and the owner's variables stay hidden", async () => {
    const world = await newWorld();
    const friend = await newUser();
    await share(world.client, world.model, friend, "write");
    const { id } = (await friend.client.create({ model: world.model, input: {} })).body;
    const { channel } = await (await world.runner()).work();
    await channel.succeed("out");
    const path = `/v1/models/${world.model}/examples`;
    const example = await friend.client.ok<{ id: string }>("POST", path, { prediction_id: id });
    const { items } = await world.client.ok<Page<{ id: string }>>("GET", path);
    expect(items.map((one) => one.id)).toEqual([example.id]);
    await friend.client.ok("DELETE", `${path}/${example.id}`);
    const variables = await friend.client.fetch(`/v1/models/${world.model}/variables`);
    expect(variables.status).toBe(403);
  });
});

describe("lists of models", () => {
  const names = async (by: Client, path: string) => {
    const { items } = await by.ok<Page<{ name: string; owner: Named }>>("GET", path);
    return items.map(({ name, owner }) => `${owner.username}/${name}`);
  };
  const called = async (by: Client, path: string) =>
    (await by.ok<{ data: { id: string }[] }>("GET", path)).data.map(({ id }) => id);

  test("a shared model is listed for its collaborator, apart from their own", async () => {
    const world = await newWorld({ compatibilities: { vendora_chat_completions: true } });
    const { model, client } = world;
    const friend = await newUser();
    await friend.client.ok("POST", "/v1/models", { name: "own" });
    const own = `${friend.username}/own`;
    const lists = async () => [
      await names(friend.client, "/v1/user/models?shared=true"),
      await names(friend.client, "/v1/user/models"),
      (await called(friend.client, "/v1/vendora/models")).includes(model),
      (await called(friend.client, "/v1/vendorb/models")).includes(model),
    ];
    expect(await lists()).toEqual([[], [own], false, false]);
    await share(client, model, friend, "run");
    expect(await lists()).toEqual([[model], [own], true, true]);
    const limited = await newClient(friend.username, { models: [own] });
    expect(await names(limited, "/v1/user/models?shared=true")).toEqual([]);
    const covered = await newClient(friend.username, { models: [model] });
    expect(await names(covered, "/v1/user/models?shared=true")).toEqual([model]);
    await unshare(client, model, friend);
    expect(await lists()).toEqual([[], [own], false, false]);
  });

  test("search finds shared models, models of the searcher's organizations, and no others of their owners", async () => {
    const word = `w${crypto.randomUUID().slice(0, 8)}`;
    const owner = await newUser();
    const friend = await newUser();
    for (const name of ["one", "two"])
      await owner.client.ok("POST", "/v1/models", { name: `${word}-${name}` });
    const organization = await newOrganization();
    await organization.client.ok("POST", "/v1/models", { name: `${word}-ours` });
    const { own: member } = await organization.join("member");
    const one = `${owner.username}/${word}-one`;
    const found = (by: Client) => names(by, `/v1/search/models?q=${word}`);
    expect(await found(friend.client)).toEqual([]);
    await share(owner.client, one, friend, "run");
    expect(await found(friend.client)).toEqual([one]);
    expect(await found(member)).toEqual([`${organization.username}/${word}-ours`]);
    const limited = await newClient(friend.username, { models: [one] });
    expect(await found(limited)).toEqual([]);
    await unshare(owner.client, one, friend);
    expect(await found(friend.client)).toEqual([]);
    expect(await found(owner.client)).toHaveLength(2);
  });
});

test("an export has the shares that the account has given and received", async () => {
  const [world, friend] = [await newWorld(), await newWorld()];
  await share(world.client, world.model, friend, "write");
  await share(friend.client, friend.model, world, "run");
  const lines = linesIn(await exported(world.client));
  expect(ofType(lines, "model")).toMatchObject([
    { collaborators: [{ account: { username: friend.username }, level: "write" }] },
  ]);
  expect(ofType(lines, "shared_model")).toMatchObject([{ model: friend.model, level: "run" }]);
});
