/** Attacks on shared models by collaborators, former collaborators, owners and strangers. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PART_BYTES } from "../../../src/domain/registry/chunk.ts";
import type { Version } from "../../../src/protocol/model.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { listCallable } from "../../../src/storage/models/targets.ts";
import { run, services } from "../support/accounts.ts";
import { VERSION } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { uploaded } from "../support/files.ts";
import { setShare } from "../support/organizations.ts";
import { type Bytes, bytesOf, digestOf, Repository, randomBytes } from "../support/registry.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { Visitor } from "../support/visitor.ts";
import { newClient, newUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const publish = (by: Client, model: string, configuration: object) =>
  by.json<Version & { detail: unknown }>("POST", `/v1/models/${model}/versions`, {
    ...VERSION,
    configuration,
  });

describe("what else the owner has", () => {
  test("neither a collaborator nor a token limited to the model publishes images of the owner's other models", async () => {
    const { client, model, username } = await newWorld();
    const friend = await newUser();
    await setShare(model, friend, "write");
    const limited = await newClient(username, { models: [model] });
    const imageOf = (name: string) => ({ image: `${env.IMAGE_REGISTRY}/${name}` });
    const secret = imageOf(`${username}/secret`);
    for (const by of [friend.client, limited]) {
      const refused = await publish(by, model, secret);
      expect([refused.status, JSON.stringify(refused.body.detail)]).toEqual([
        422,
        expect.stringContaining("secret"),
      ]);
      expect((await publish(by, model, imageOf(model))).status).toBe(200);
    }
    expect((await publish(client, model, secret)).status).toBe(200);
  });

  test("an overview shows no weights of the owner, whose ids versions of other models have", async () => {
    const { client, model, username } = await newWorld({ visibility: "public" });
    const { id } = await uploaded(client, "weights", { mime_type: "application/octet-stream" });
    await client.ok("POST", "/v1/models", { name: "other" });
    await publish(client, `${username}/other`, { weights: [{ file: id, target: "/w" }] });
    const friend = await newUser();
    await setShare(model, friend, "write");
    const overview = `Weights: ![It](/v1/uploads/${id})`;
    await friend.client.ok("PATCH", `/v1/models/${model}`, { overview });
    const { html } = await new Visitor().look(`/models/${model}/overview`);
    expect(html).toContain("Weights:");
    expect(html).not.toContain("signature=");
  });
});

test("an upload that a collaborator publishes in two models at once becomes that of one owner, and is in one model", async () => {
  const { model } = await newWorld();
  const friend = await newWorld();
  const third = await newWorld();
  await setShare(model, friend, "write");
  await setShare(third.model, friend, "write");
  for (const others of [[friend.model], [third.model], [friend.model, third.model]]) {
    const { id } = await uploaded(friend.client, "weights");
    const weights = [{ file: id, target: "/w" }];
    const statuses = await Promise.all(
      [model, ...others].map(
        async (one) => (await publish(friend.client, one, { weights })).status,
      ),
    );
    const named = await env.DB.prepare(
      `SELECT owner_id, user_id FROM version_files JOIN models ON models.id = model_id
        JOIN uploads ON uploads.id = upload_id WHERE upload_id = ?`,
    )
      .bind(id)
      .all<{ owner_id: string; user_id: string }>();
    expect(statuses.toSorted()).toEqual([200, ...others.map(() => 422)]);
    expect(named.results.map(({ owner_id, user_id }) => owner_id === user_id)).toEqual([true]);
  }
});

describe("a push during which the share ends", () => {
  /** Sends a request whose body is at its middle when the share ends. */
  async function pushed(
    method: string,
    pathOf: (repository: Repository) => Promise<string>,
    body: Bytes,
  ) {
    const { model } = await newWorld();
    const friend = await newUser();
    await setShare(model, friend, "write");
    const repository = new Repository(friend.client, model);
    const path = await pathOf(repository);
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const headers = { "content-type": MEDIA_TYPES.ociManifest };
    const answering = repository.send(method, path, { body: readable, headers });
    const half = Math.ceil(body.length / 2);
    await writer.write(body.slice(0, half));
    await setShare(model, friend, undefined);
    // A refused body is not read to its end.
    const sending = writer.write(body.slice(half)).then(() => writer.close());
    sending.catch(() => {});
    return (await answering).status;
  }

  test("the rest of a layer is refused", async () => {
    const layer = randomBytes(2 * PART_BYTES);
    expect(await pushed("PATCH", (to) => to.begin(), layer)).toBe(404);
  });

  test("a layer that is sent whole is refused", async () => {
    const layer = randomBytes(1_000);
    const pathOf = async (to: Repository) => `${await to.begin()}?digest=${digestOf(layer)}`;
    expect(await pushed("PUT", pathOf, layer)).toBe(404);
  });

  test("a manifest is refused, and its tag does not move", async () => {
    expect(await pushed("PUT", async () => "manifests/latest", bytesOf("{}"))).toBe(403);
  });
});

test("a stranger who shares a thousand models does not keep search from those that others have shared", async () => {
  const [victim, friend, stranger] = [await newUser(), await newWorld(), await newUser()];
  // SQLite reads the shares of an account in the order of the model ids: `00` comes first.
  await run(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000)
      INSERT INTO models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
      SELECT '00' || ?1 || n, ?1, 'flood-' || n, 'private', '', '', 0, 0 FROM n`,
    stranger.user_id,
  );
  await run(
    "INSERT INTO collaborators SELECT id, ?2, 'run', 0 FROM models WHERE owner_id = ?1",
    ...[stranger.user_id, victim.user_id],
  );
  await setShare(friend.model, victim, "run");
  const { items } = await victim.client.ok<Page<{ owner: { username: string } }>>(
    "GET",
    `/v1/search/models?q=${friend.username}`,
  );
  expect(items.map(({ owner }) => owner.username)).toEqual([friend.username]);
});

test("models of others displace none of the caller's own in the lists of the conventions", async () => {
  const world = await newWorld({ compatibilities: { vendora_chat_completions: true } });
  const later = await newWorld({ compatibilities: { vendora_chat_completions: true } });
  await setShare(later.model, world, "run");
  const list = (limit: number) =>
    listCallable(services.db, world.user_id, null, ["vendora_chat_completions"], limit);
  expect((await list(1)).map(({ owner }) => owner)).toEqual([world.username]);
  expect((await list(2)).map(({ owner }) => owner)).toEqual([world.username, later.username]);
});

test("a former collaborator who runs a prediction again does not learn the model's new name", async () => {
  const friend = await newDashboardUser();
  const { client, model, username } = await newWorld();
  await setShare(model, friend, "run");
  const { id } = (await friend.client.create({ model, input: {} })).body;
  await friend.client.cancel(id);
  await setShare(model, friend, undefined);
  await client.ok("PATCH", `/v1/models/${model}`, { name: "unannounced" });
  advance(10.001);
  const answer = await friend.visitor.call("POST", `/predictions/${id}/retry`);
  const text = await answer.text();
  expect(answer.status).toBe(404);
  expect(text).toContain(`${username}/story`);
  expect(text).not.toContain("unannounced");
});
