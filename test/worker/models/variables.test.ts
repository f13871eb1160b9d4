/** Variables of models in the API: set, listed and deleted, and their values never returned. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { validationError } from "../../../src/protocol/common.ts";
import type { Variable } from "../../../src/protocol/variable.ts";
import { walk } from "../support/catalogue.ts";
import { ORIGIN } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { listVariables, setVariable, variablesAt } from "../support/variables.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const SECRET = "hunter2-is-the-value";

describe("a variable", () => {
  test("a variable is set, listed by name without its value, set again and deleted", async () => {
    const { client, model } = await newWorld();
    const now = new Date().toISOString();
    expect(await setVariable(client, model, "HF_TOKEN", SECRET)).toEqual({
      name: "HF_TOKEN",
      updated_at: now,
    });
    await setVariable(client, model, "API_KEY");
    advance(1);
    await setVariable(client, model, "HF_TOKEN", "another");
    const later = new Date().toISOString();
    expect(await listVariables(client, model)).toEqual([
      { name: "API_KEY", updated_at: now },
      { name: "HF_TOKEN", updated_at: later },
    ]);
    expect(await client.ok("DELETE", variablesAt(model, "API_KEY"))).toEqual({});
    expect((await listVariables(client, model)).map(({ name }) => name)).toEqual(["HF_TOKEN"]);
    expect(await client.json("DELETE", variablesAt(model, "API_KEY"))).toMatchObject({
      status: 404,
      body: { detail: "The variable 'API_KEY' was not found." },
    });
  });

  test("a variable is sealed in the database, for its model and name alone", async () => {
    const [one, other] = [await newWorld(), await newWorld()];
    await setVariable(one.client, one.model, "HF_TOKEN", SECRET);
    await setVariable(other.client, other.model, "HF_TOKEN", SECRET);
    const { results } = await env.DB.prepare("SELECT * FROM model_variables").all<{
      sealed: string;
    }>();
    const sealed = results.map((row) => row.sealed);
    for (const text of sealed) expect(text).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+$/);
    expect(new Set(sealed).size).toBe(sealed.length);
    expect(JSON.stringify(results)).not.toContain(SECRET);
  });

  test("a variable survives a rename of its model, and is deleted with it", async () => {
    const { client, model, username } = await newWorld();
    await setVariable(client, model, "HF_TOKEN");
    await client.ok("PATCH", `/v1/models/${model}`, { name: "saga" });
    expect(await listVariables(client, `${username}/saga`)).toHaveLength(1);
    await client.ok("DELETE", `/v1/models/${username}/saga`);
    await client.ok("POST", "/v1/models", { name: "saga" });
    expect(await listVariables(client, `${username}/saga`)).toEqual([]);
  });

  test("a variable of a public model is visible to its owner only", async () => {
    const world = await newWorld({ visibility: "public" });
    await setVariable(world.client, world.model, "HF_TOKEN");
    const stranger = await world.stranger();
    for (const method of ["GET", "PUT", "DELETE"] as const) {
      const path = variablesAt(world.model, method === "GET" ? "" : "HF_TOKEN");
      expect(await stranger.json(method, path, { value: "theirs" })).toMatchObject({
        status: 403,
        body: {
          detail: `Only its owner can change the model '${world.model}' or see its variables. If an organization owns it, use one of its tokens, or switch to it in the dashboard.`,
        },
      });
    }
    expect(await listVariables(world.client, world.model)).toHaveLength(1);
  });
});

test("variables have pages, both ways, by name", async () => {
  const { client, model } = await newWorld();
  const names = Array.from({ length: 12 }, (_, n) => `V${String(n).padStart(2, "0")}`);
  for (const name of names.toReversed()) await setVariable(client, model, name);
  const pages = await walk<Variable>(client, `${variablesAt(model)}?page_size=5`);
  expect(pages.map(({ items }) => items.map(({ name }) => name))).toEqual([
    names.slice(0, 5),
    names.slice(5, 10),
    names.slice(10),
  ]);
  const [last] = pages.slice(-1);
  const back = await walk<Variable>(client, last?.previous_url ?? "", "previous_url");
  expect(back.map(({ items }) => items.length)).toEqual([5, 5]);
});

describe("names and values", () => {
  test.each([
    ["PORT", "this name is reserved for the runner"],
    ["HOST", "this name is reserved for the runner"],
    ["PATH", "this name is reserved for the runner"],
    ["LLAMA_ARG_PORT", "this name is reserved for the runner"],
    ["COG_MAX_CONCURRENCY", "this name is reserved for the runner"],
    ["WEBHOOK_AUTH_TOKEN", "this name is reserved for the runner"],
    ["AUSPEX_UPLOAD_URL", "this name is reserved for the runner"],
    ["LD_PRELOAD", "how programs load code"],
    ["NODE_OPTIONS", "how programs load code"],
    ["PYTHONPATH", "how programs load code"],
    ["NVIDIA_VISIBLE_DEVICES", "how programs load code"],
    ["BASH_ENV", "how programs load code"],
    ["hf_token", "upper-case letters, digits"],
    ["1ST", "upper-case letters, digits"],
    ["A-B", "upper-case letters, digits"],
    ["A".repeat(101), "upper-case letters, digits"],
  ])("the name %s is refused", async (name, why) => {
    const { client, model } = await newWorld();
    const { status, body } = await client.json("PUT", variablesAt(model, name), { value: "x" });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      detail: [{ loc: ["path", "variable_name"], msg: expect.stringContaining(why) }],
    });
  });

  test.each([
    ["LLAMA_ARG_CTX_SIZE"],
    ["COG_LOG_LEVEL"],
    ["HTTP_PROXY"],
    ["_"],
    ["CUDA_VISIBLE_DEVICES"],
    ["A".repeat(100)],
  ])("the name %s is accepted", async (name) => {
    const { client, model } = await newWorld();
    await setVariable(client, model, name);
  });

  const bodies: [string, unknown][] = [
    ["absent", {}],
    ["empty", { value: "" }],
    ["of another type", { value: 271_828_182 }],
    ["a list", { value: [SECRET] }],
    ["a text with a NUL", { value: `${SECRET}\0` }],
    ["a text with half a character", { value: `${SECRET}\ud83d` }],
    ["more than 32 KiB", { value: SECRET.padEnd(32 * 1024 + 1, "x") }],
    ["10 MB", { value: SECRET.padEnd(9_900_000, "x") }],
    ["beside another field", { value: "x", secretly: SECRET }],
    ["in a misspelt field", { vale: SECRET }],
    ["not in an object", JSON.stringify(SECRET)],
    ["not JSON", SECRET],
    ["nearly JSON", `{"value": ${SECRET}}`],
  ];

  test.each(bodies)(
    "a value that is %s is refused, and not repeated in the answer",
    async (_, body) => {
      const { client, model } = await newWorld();
      const response = await client.put(variablesAt(model, "HF_TOKEN"), body);
      const text = await response.text();
      expect([response.status, response.headers.get("content-type")]).toEqual([
        422,
        "application/json",
      ]);
      const issues = validationError.parse(JSON.parse(text)).detail;
      for (const { loc } of issues) expect(loc[0]).toBe("body");
      expect(text).not.toMatch(/hunter|271828182/);
      expect(response.headers.get("x-request-id")).not.toBeNull();
      expect(await listVariables(client, model)).toEqual([]);
    },
  );

  test("a value of lines, quotes, signs, emoji or 32 KiB is accepted", async () => {
    const { client, model } = await newWorld();
    const values = ["a\nb\r\n\tc", `"'\`$\\`, "🔑 ключ", "=", " ", "x".repeat(32 * 1024), "\u0001"];
    for (const value of values) await setVariable(client, model, "V", value);
  });
});

describe("the limits", () => {
  test("a model's variables have at most about 90 KB together", async () => {
    const { client, model } = await newWorld();
    const large = "x".repeat(32 * 1024);
    const statusOf = async (name: string, value: string) =>
      (await client.json("PUT", variablesAt(model, name), { value })).status;
    expect(await statusOf("A", large)).toBe(200);
    expect(await statusOf("B", large)).toBe(200);
    expect(await statusOf("C", large)).toBe(409);
    expect(await statusOf("C", "x".repeat(25 * 1024))).toBe(200);
    // `B` can be replaced by a value of the same size.
    expect(await statusOf("B", large.toUpperCase())).toBe(200);
    expect(await statusOf("D", "x".repeat(8 * 1024))).toBe(409);
  });
});

describe("without SECRET_KEY", () => {
  test("a deployment without SECRET_KEY sets no variables, and still lists and deletes them", async () => {
    const { client, model } = await newWorld();
    await setVariable(client, model, "HF_TOKEN");
    const ask = async (method: string, name = "", body?: object) => {
      const request = new Request(ORIGIN + variablesAt(model, name), {
        method,
        headers: {
          authorization: `Bearer ${client.token}`,
          "content-type": "application/json",
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const keyless = { ...env, SECRET_KEY: "" };
      const response = await app.fetch(request, keyless, createExecutionContext());
      return { status: response.status, text: await response.text() };
    };
    const refused = await ask("PUT", "HF_TOKEN", { value: SECRET });
    expect(refused.status).toBe(503);
    expect(refused.text).toContain("wrangler secret put SECRET_KEY");
    expect(refused.text).not.toContain(SECRET);
    expect(await ask("GET")).toMatchObject({
      status: 200,
      text: expect.stringContaining("HF_TOKEN"),
    });
    expect((await ask("DELETE", "HF_TOKEN")).status).toBe(200);
    expect(await listVariables(client, model)).toEqual([]);
  });
});
