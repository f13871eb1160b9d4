/** The version that runs when none is named. */

import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Model, Version } from "../../../src/protocol/model.ts";
import { database } from "../../../src/storage/database.ts";
import { findModel, isVersionGone, updateModel } from "../../../src/storage/models/models.ts";
import { sized } from "../../support/sized.ts";
import { anEntry } from "../support/audit.ts";
import { newModel, pathOf, publish, referenceOf } from "../support/catalogue.ts";
import { newUser } from "../support/world.ts";

const { client, user_id } = await newUser();
const other = await newUser();

/** A public model with versions 1 to `count`. */
async function published(count: number) {
  const made = await newModel(client, { visibility: "public" });
  const [path, reference] = [pathOf(made), referenceOf(made)];
  for (let n = 0; n < count; n++) await publish(client, reference);
  return { path, reference };
}

const setDefault = (path: string, default_version: number | null) =>
  client.json("PATCH", path, { default_version });

const runs = async (reference: string) => {
  const { body } = await client.create({ model: reference, input: {} });
  await client.json("POST", `/v1/predictions/${body.id}/cancel`);
  return body.model.version_number;
};

describe("the default version", () => {
  test("a call that names no version runs the default version, which is the latest at first", async () => {
    const { path, reference } = await published(3);
    expect(await client.ok<Model>("GET", path)).toMatchObject({ default_version: null });
    expect(await runs(reference)).toBe(3);
    expect((await setDefault(path, 1)).body).toMatchObject({
      default_version: 1,
      latest_version: { number: 3 },
    });
    expect(await runs(reference)).toBe(1);
    expect(await runs(`${reference}:3`)).toBe(3);
    await setDefault(path, null);
    expect(await runs(reference)).toBe(3);
  });

  test("a version of another model, or of none, cannot be the default", async () => {
    const { path } = await published(1);
    const { status, body } = await setDefault(path, 2);
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain("the model has no version 2");
    for (const wrong of [0, -1, 1.5]) expect((await setDefault(path, wrong)).status).toBe(422);
  });

  test("a version that is deleted while it becomes the default is refused, and nothing changes", async () => {
    const db = database(env.DB);
    const { id, name } = await newModel(client, { visibility: "public" });
    const allowance = { user_id, max_bytes: 1e9, max_total_bytes: 1e12 };
    const changing = updateModel(
      db,
      id,
      { default_version: 7, name: "other" },
      [],
      allowance,
      anEntry(),
    );
    expect(isVersionGone(await changing.catch((error) => error))).toBe(true);
    expect(await findModel(db, id)).toMatchObject({ name, pinned: null });
    for (let n = 0; n < sized(3, 10); n++) {
      const { path } = await published(2);
      const [set, removed] = await Promise.all([
        setDefault(path, 1),
        client.json("DELETE", `${path}/versions/1`),
      ]);
      // Whichever comes first, the other is refused.
      expect([200, 409, 422]).toContain(set.status);
      expect(removed.status === 409).toBe(set.status === 200);
    }
  });

  test("another account cannot change the default version", async () => {
    const { path } = await published(2);
    const { status } = await other.client.json("PATCH", path, { default_version: 1 });
    expect(status).toBe(403);
    expect(await client.ok<Model>("GET", path)).toMatchObject({ default_version: null });
  });

  test("the default version cannot be deleted, and the refusal says what to do", async () => {
    const { path } = await published(2);
    await setDefault(path, 1);
    const { status, body } = await client.json("DELETE", `${path}/versions/1`);
    expect(status).toBe(409);
    expect(JSON.stringify(body)).toContain("Make another version the default first");
    await client.ok<Version>("GET", `${path}/versions/1`);
    await setDefault(path, 2);
    await client.ok("DELETE", `${path}/versions/1`);
    await client.ok("DELETE", path);
  });

  test("a chat reaches the version before the default while the default awaits its first start", async () => {
    const { path, reference } = await published(0);
    const answers = { compatibilities: { vendora_chat_completions: true } };
    await publish(client, reference, answers);
    await publish(client, reference);
    await publish(client, reference, answers);
    await setDefault(path, 2);
    const refused = await client.json("POST", "/openai/v1/chat/completions", {
      model: reference,
      messages: [{ role: "user", content: "Hello" }],
    });
    expect(refused.status).toBe(400);
    await setDefault(path, 1);
    const names = async () =>
      (await client.ok<{ data: { id: string }[] }>("GET", "/openai/v1/models")).data.map(
        ({ id }) => id,
      );
    expect(await names()).toContain(reference);
  });
});

/** The versions that the model should have. */
interface Expected {
  versions: Set<number>;
  last: number;
  pinned: number | null;
}

const latestOf = ({ versions }: Expected) => Math.max(0, ...versions);

type Step = { publish: boolean } | { pin: number | null } | { delete: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ publish: fc.boolean() }),
  fc.record({ pin: fc.option(fc.integer({ min: 1, max: 6 })) }),
  fc.record({ delete: fc.integer({ min: 1, max: 6 }) }),
);

/** Applies a step to what is expected. @returns the status of the answer */
function apply(expected: Expected, one: Step): number {
  const { versions } = expected;
  if ("publish" in one) {
    const before = latestOf(expected);
    expected.last++;
    versions.add(expected.last);
    if (one.publish) expected.pinned = null;
    else if (before > 0) expected.pinned ??= before;
    return 200;
  }
  if ("pin" in one) {
    if (one.pin !== null && !versions.has(one.pin)) return 422;
    expected.pinned = one.pin;
    return 200;
  }
  if (!versions.has(one.delete)) return 404;
  const isPinned = expected.pinned === one.delete;
  if (isPinned && latestOf(expected) > one.delete) return 409;
  versions.delete(one.delete);
  if (isPinned) expected.pinned = null;
  return 200;
}

const send = (path: string, reference: string, one: Step) => {
  if ("publish" in one)
    return client.json("POST", `/v1/models/${reference}/versions`, {
      release_notes: "",
      container_image_digest: `sha256:${"a".repeat(64)}`,
      schemas: { prediction: { input: {}, output: {} } },
      set_default: one.publish,
    });
  if ("pin" in one) return setDefault(path, one.pin);
  return client.json("DELETE", `${path}/versions/${one.delete}`);
};

test("the default version is there after any order of publishing, rolling back and deleting", {
  timeout: 3_600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const { path, reference } = await published(0);
      const expected: Expected = { versions: new Set(), last: 0, pinned: null };
      for (const one of steps) {
        const { status } = await send(path, reference, one);
        expect(status).toBe(apply(expected, one));
        const model = await client.ok<Model>("GET", path);
        expect(model.default_version).toBe(expected.pinned);
        expect(model.latest_version?.number ?? 0).toBe(latestOf(expected));
        const run = await client.json<{ model: { version_number: number }; id: string }>(
          "POST",
          "/v1/predictions",
          { model: reference, input: {} },
        );
        expect(run.body.model?.version_number ?? 0).toBe(expected.pinned ?? latestOf(expected));
        if (run.body.id) await client.json("POST", `/v1/predictions/${run.body.id}/cancel`);
      }
    }),
    { numRuns: sized(2, 8), seed: 1 },
  );
});
