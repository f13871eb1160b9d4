/** The limit of an account's bytes in D1, counted row by row. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Bindings } from "../../../src/env.ts";
import worker from "../../../src/worker.ts";
import { newModel, pageAt, pathOf, VERSION } from "../support/catalogue.ts";
import { type Client, ORIGIN, type Refusal } from "../support/client.ts";
import { beginUpload } from "../support/files.ts";
import { newClient, newUser, newWorld, operator, unique } from "../support/world.ts";

/** Sends a request to a deployment with these bindings. */
async function sendWith(
  bindings: Bindings,
  { token }: Client,
  method: string,
  path: string,
  body: object,
) {
  const request = new Request(`${ORIGIN}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const response = await worker.fetch(request, bindings, createExecutionContext());
  return { status: response.status, body: await response.json<Refusal>() };
}

const where = (bytes: number): Bindings =>
  Object.assign({}, env, { ACCOUNT_MB: String(bytes / 1_000_000) });

async function bytesOf(userId: string): Promise<number> {
  const row = await env.DB.prepare("SELECT bytes FROM account_bytes WHERE user_id = ?")
    .bind(userId)
    .first<{ bytes: number }>();
  return row?.bytes ?? 0;
}

const large = (chars: number) => ({
  ...VERSION,
  schemas: { prediction: { input: { description: "x".repeat(chars) }, output: {} } },
});

const full = {
  status: 409,
  body: { detail: expect.stringMatching(/Delete unused versions, models.*ACCOUNT_MB/) },
};

describe("the bytes of an account", () => {
  test("an account's bytes grow with new rows, and fall back when these are deleted", async () => {
    const { client, user_id } = await newUser();
    const before = await bytesOf(user_id);
    const model = await newModel(client, { overview: "word ".repeat(1_000) });
    const path = pathOf(model);
    const withModel = await bytesOf(user_id);
    expect(withModel - before).toBeGreaterThan(20 * 4_000);
    await client.ok("PATCH", path, { overview: "" });
    expect(await bytesOf(user_id)).toBeLessThan(withModel - 20 * 4_000);
    await client.ok("PUT", `${path}/variables/KEY`, { value: "x".repeat(1_000) });
    const small = await bytesOf(user_id);
    await client.ok("POST", `${path}/versions`, large(50_000));
    expect(await bytesOf(user_id)).toBeGreaterThan(small + 50_000);
    await client.ok("DELETE", `${path}/versions/1`);
    expect(await bytesOf(user_id)).toBe(small);
    await client.ok("DELETE", path);
    expect(await bytesOf(user_id)).toBe(before);
    const upload = await beginUpload(client, 1_000);
    expect(await bytesOf(user_id)).toBeGreaterThan(before);
    await client.ok("DELETE", `/v1/uploads/${upload.id}`);
    expect(await bytesOf(user_id)).toBe(before);
  });

  test("an account's bytes include tokens until they are revoked", async () => {
    const { client, user_id, username } = await newUser();
    const before = await bytesOf(user_id);
    await newClient(username);
    expect(await bytesOf(user_id)).toBeGreaterThan(before);
    const path = `/v1/operator/users/${username}/tokens`;
    const [newest] = (await pageAt<{ id: string }>(operator, path)).items;
    await operator.ok("DELETE", `/v1/operator/tokens/${newest?.id}`);
    expect(await bytesOf(user_id)).toBe(before);
    expect((await client.fetch("/v1/user")).status).toBe(200);
  });
});

describe("the limit of bytes", () => {
  test("an account never exceeds ACCOUNT_MB, also if more requests come at once", async () => {
    const { client, user_id } = await newUser();
    const versions = `${pathOf(await newModel(client))}/versions`;
    const bytes = (await bytesOf(user_id)) + 35_000;
    const publish = () => sendWith(where(bytes), client, "POST", versions, large(10_000));
    const answers = await Promise.all(Array.from({ length: 5 }, publish));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409]);
    expect(await publish()).toMatchObject(full);
    expect(await bytesOf(user_id)).toBeLessThanOrEqual(bytes);
    await client.ok("DELETE", `${versions}/1`);
    expect((await publish()).status).toBe(200);
  });

  test("a full account can write nothing but reductions", async () => {
    const { client, user_id, username } = await newUser();
    const model = await newModel(client, { overview: "one two three ".repeat(100) });
    const path = pathOf(model);
    const none = where((await bytesOf(user_id)) / 2);
    const writes: [string, string, object][] = [
      ["POST", "/v1/models", { name: unique("model") }],
      ["PATCH", path, { description: "something" }],
      ["POST", `${path}/versions`, VERSION],
      ["PUT", `${path}/variables/KEY`, { value: "secret" }],
      ["POST", "/v1/uploads", { size: 10, mime_type: "text/plain" }],
    ];
    for (const [method, to, body] of writes)
      expect(await sendWith(none, client, method, to, body)).toMatchObject(full);
    const tokens = `/v1/operator/users/${username}/tokens`;
    expect(await sendWith(none, operator, "POST", tokens, { name: "more" })).toMatchObject(full);
    expect((await sendWith(none, client, "PATCH", path, { overview: "less" })).status).toBe(200);
    expect((await sendWith(none, client, "PATCH", path, { visibility: "public" })).status).toBe(
      200,
    );
    expect((await pageAt(client, "/v1/user/models")).items).toHaveLength(1);
  });

  test("a full account can create predictions, which are not in D1", async () => {
    const { client, user_id, model } = await newWorld();
    const before = await bytesOf(user_id);
    const none = where(before / 2);
    const create = { model, input: {} };
    expect((await sendWith(none, client, "POST", "/v1/predictions", create)).status).toBe(202);
    expect(await bytesOf(user_id)).toBe(before);
  });
});
