/**
 * Invalid requests get an answer that names the error, and create nothing. Bodies are in bad-body.test.ts.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { Refusal } from "../support/client.ts";
import { expectInvalid, expectProblem, expectUntouched } from "../support/refusals.ts";
import { newWorld, unique } from "../support/world.ts";

const world = await newWorld();
const { client, model, username } = world;
await client.post("/v1/models", { name: "empty" });

afterEach(() => expectUntouched(world));

const create = (body: unknown, headers?: Record<string, string>) =>
  client.refused("/v1/predictions", body, headers);

describe("the model of a create", () => {
  test.each([
    ["an unknown model", () => `${username}/nothing`],
    ["a model of an unknown owner", () => `${unique("nobody")}/story`],
    ["an unknown version", () => `${model}:7`],
    ["a model without versions", () => `${username}/empty`],
  ])("%s is a 404", async (_, name) => {
    const reference = name();
    const answer = await create({ model: reference, input: {} });
    expectProblem(answer, 404, "not_found");
    expect(answer.body.detail).toContain(reference);
  });

  test("a private model of somebody else is answered like a model that does not exist", async () => {
    const stranger = await world.stranger();
    const answer = await stranger.refused("/v1/predictions", { model, input: {} });
    expectProblem(answer, 404, "not_found");
    const nothing = await stranger.refused("/v1/predictions", {
      model: `${username}/nothing`,
      input: {},
    });
    expect(answer.body.detail).toBe(nothing.body.detail.toString().replace("nothing", "story"));
  });

  test.each(["", "story", "a/b/c", "a/b:0", "a/b:-1", "a/b:x", "A/b", "a/b:1:2", 5, null, {}])(
    "a malformed model name is a 422: %j",
    async (name) => {
      expectInvalid(await create({ model: name, input: {} }), "body", "model");
    },
  );

  test("a missing model is a 422 that names it", async () => {
    const answer = await create({ input: {} });
    expectInvalid(answer, "body", "model");
    expect(answer.body.detail).toMatchObject([{ type: "missing" }]);
  });

  test("a malformed model in the address is a 422", async () => {
    for (const path of [
      "versions/0/predictions",
      "versions/x/predictions",
      "versions/-1/predictions",
      "versions/1e99/predictions",
    ]) {
      expectInvalid(
        await client.refused(`/v1/models/${model}/${path}`, { input: {} }),
        "path",
        "version_number",
      );
    }
    expectProblem(
      await client.refused(`/v1/models/${model}/versions/7/predictions`, { input: {} }),
      404,
      "not_found",
    );
    expectProblem(
      await client.refused("/v1/models/UPPER/story/predictions", { input: {} }),
      404,
      "not_found",
    );
  });
});

describe("parameters of lists", () => {
  test.each([
    ["status=failed", "status"],
    ["statuses=pending,failed", "statuses"],
    ["model=ada/story:1", "model"],
    ["cursor=garbage", "cursor"],
    ["cursor=%25", "cursor"],
    [`cursor=${btoa("{}")}`, "cursor"],
  ])("a list refuses ?%s", async (query, where) => {
    const answer = await client.json<Refusal>("GET", `/v1/predictions?${query}`);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: expect.arrayContaining(["query", where]) }]);
  });
});

describe("IDs in addresses", () => {
  test.each(["x", "123", "019a0000-0000-7000-8000", "..%2f..", "%00"])(
    "an ID that is no UUID is a 422: %s",
    async (id) => {
      for (const path of [`/v1/predictions/${id}`, `/v1/predictions/${id}/stream`]) {
        expectInvalid(await client.json<Refusal>("GET", path), "path", "prediction_id");
      }
      expectInvalid(
        await client.refused(`/v1/predictions/${id}/cancel`, {}),
        "path",
        "prediction_id",
      );
    },
  );

  test("an unknown prediction is a 404", async () => {
    const id = crypto.randomUUID();
    for (const path of [`/v1/predictions/${id}`, `/v1/predictions/${id}/stream`]) {
      expectProblem(await client.json<Refusal>("GET", path), 404, "not_found");
    }
    expectProblem(await client.refused(`/v1/predictions/${id}/cancel`, {}), 404, "not_found");
    expectProblem(await client.json("DELETE", `/v1/predictions/${id}`), 404, "not_found");
  });

  test.each(["x", "-1", "1.5", "1e3"])("an event ID is invalid: after_id=%s", async (after) => {
    const path = `/v1/predictions/${crypto.randomUUID()}/stream?after_id=${after}`;
    const answer = await client.json<Refusal>("GET", path);
    expectInvalid(answer, "query", "after_id");
    expect(answer.body.detail).toMatchObject([
      { msg: expect.stringContaining("the ID of an event") },
    ]);
  });
});

describe("uploads and files", () => {
  const id = crypto.randomUUID();
  const signature = "x".repeat(43);
  const signed = `expires=1&signature=${signature}`;

  test.each([
    ["GET", "/v1/uploads/x", "path", "upload_id"],
    ["PUT", `/v1/uploads/${id}/parts/0?size=1&${signed}`, "path", "part_number"],
    ["PUT", `/v1/uploads/${id}/parts/1?${signed}`, "query", "size"],
    ["PUT", `/v1/uploads/${id}/parts/1?size=1&signature=${signature}`, "query", "expires"],
    ["GET", `/v1/files/${id}/..%2fx?${signed}`, "path", "file_name"],
  ] as const)("an address is invalid: %s %s: %s %s", async (method, path, ...loc) => {
    expectInvalid(await client.json<Refusal>(method, path), ...loc);
  });

  test.each([
    [{ size: 5, mime_type: "image/png\r\nx: y" }, "mime_type"],
    [{ size: 5, mime_type: "image/png", name: "../x" }, "name"],
  ])("an upload begun with %j is a 422", async (body, where) => {
    expectInvalid(await client.refused("/v1/uploads", body), "body", where);
  });

  test("an unknown upload or file is a 404", async () => {
    for (const [method, path] of [
      ["GET", `/v1/uploads/${id}`],
      ["DELETE", `/v1/uploads/${id}`],
      ["GET", `/v1/files/${id}/x`],
    ] as const)
      expectProblem(await client.json<Refusal>(method, path), 404, "not_found");
    for (const [path, body] of [
      [`/v1/uploads/${id}/complete`, { etags: ["x"] }],
      [`/v1/files/${id}/x/addresses`, {}],
    ] as const)
      expectProblem(await client.refused(path, body), 404, "not_found");
  });
});

test("other people's predictions are not found: get, stream, cancel, list", async () => {
  const other = await newWorld();
  const id = await other.waiting({ mine: true });
  expectProblem(await client.json<Refusal>("GET", `/v1/predictions/${id}`), 404, "not_found");
  expectProblem(
    await client.json<Refusal>("GET", `/v1/predictions/${id}/stream`),
    404,
    "not_found",
  );
  expectProblem(await client.refused(`/v1/predictions/${id}/cancel`, {}), 404, "not_found");
  expect((await client.json("GET", "/v1/predictions")).body).toMatchObject({ items: [] });
  expect(await other.client.status(id)).toBe("pending");
});
