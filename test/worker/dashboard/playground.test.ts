/** The playground without client code, and what its client code asks. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import type { Bindings } from "../../../src/env.ts";
import type { Upload } from "../../../src/protocol/upload.ts";
import { ORIGIN } from "../support/client.ts";
import { bytesOf, MIB, PART, sendParts } from "../support/files.ts";
import { signedUp, type Visitor } from "../support/visitor.ts";
import { DIGEST, newClient, newWorld, unique } from "../support/world.ts";

const INPUT = {
  type: "object",
  required: ["prompt"],
  properties: {
    prompt: { type: "string", title: "Prompt", description: "What it is about", "x-order": 0 },
    steps: { type: "integer", minimum: 1, maximum: 50, default: 20, "x-order": 1 },
    size: { allOf: [{ $ref: "#/components/schemas/size" }], default: "small", "x-order": 2 },
    tiled: { type: "boolean", default: true, "x-order": 3 },
    tags: { type: "array", items: { type: "string" }, "x-order": 4 },
  },
  components: { schemas: { size: { type: "string", enum: ["small", "large"] } } },
};

const world = await newWorld({ input: INPUT, visibility: "public" });
const PAGE = `/models/${world.model}/playground`;
const { visitor, username } = await signedUp();
const client = await newClient(username);

/** What a browser sends of the form when only this is typed. */
const form = (typed: Record<string, string>) => ({
  version: "1",
  "lines-0": "",
  "range-1": "20",
  "enum-2": '"small"',
  "boolean-3": "true",
  "strings-4": "",
  ...typed,
});

/** Runs it as client code does. */
async function run(input: object, by: Visitor = visitor, page = PAGE): Promise<string> {
  await by.look(page);
  const response = await by.call("POST", page, { input });
  expect(response.status).toBe(200);
  const { id } = await response.json<{ id: string }>();
  return id;
}

/** The tag of the control with this id. */
const control = (html: string, id: string) =>
  new RegExp(`<(?:input|select|textarea)[^>]* id="${id}"[^>]*>`).exec(html)?.[0] ?? "";

describe("the page", () => {
  it("has a field for each property, with what it is at first", async () => {
    const { status, html } = await visitor.look(PAGE);
    expect(status).toBe(200);
    expect(html).toMatch(/<label for="lines-0">Prompt<\/label>/);
    expect(html).toContain("What it is about");
    expect(control(html, "lines-0")).toContain("required");
    expect(control(html, "range-1")).toContain('value="20"');
    expect(html).toContain("1 to 50");
    expect(html).toMatch(/<option value="&quot;small&quot;" selected="">small<\/option>/);
    expect(control(html, "boolean-3")).toContain("checked");
    expect(html).toContain("No prediction yet");
  });

  it("shows the call as code, with the address that it was asked at", async () => {
    const { html } = await visitor.look(`${PAGE}?tab=code`);
    expect(html).toContain("curl -N &#39;https://auspex.test/v1/predictions&#39;");
    expect(html).toContain(`&quot;model&quot;: &quot;${world.model}&quot;`);
    expect(html).toMatch(/aria-label="Output" data-panel="output" hidden/);
  });

  it("shows the whole input as JSON when it is asked to", async () => {
    const { html } = await visitor.look(`${PAGE}?as=json`);
    expect(control(html, "input")).not.toContain("disabled");
    expect(html).toMatch(/<fieldset[^>]*data-raw-panel[^>]*>/);
    expect(html).toMatch(/<fieldset[^>]*data-fields-panel[^>]*hidden/);
    expect(html).toContain("&quot;steps&quot;: 20");
  });

  it("has JSON alone for a version that names no properties", async () => {
    const { model } = await newWorld({ input: { type: "object" }, visibility: "public" });
    const { html } = await visitor.look(`/models/${model}/playground`);
    expect(html).not.toContain("data-fields-panel");
    expect(html).not.toContain("data-switch-mode");
  });

  it("has a field for what is said to a chat, also where its schema says nothing", async () => {
    const { model } = await newWorld({
      visibility: "public",
      compatibilities: { vendora_chat_completions: true },
      configuration: { interface: "vendora" },
    });
    const page = `/models/${model}/playground`;
    const { html } = await visitor.look(page);
    expect(html).toContain('id="messages-0"');
    expect(html).toContain("client.chat.completions.create");
    const { location } = await visitor.send(page, { version: "1", "messages-0": "Who is it?" });
    const id = location?.split("prediction=")[1];
    const { body } = await client.json<{ input: object }>("GET", `/v1/predictions/${id}`);
    expect(body.input).toEqual({ messages: [{ role: "user", content: "Who is it?" }] });
  });

  it("says how to publish a version where there is none, to whom it concerns", async () => {
    const name = unique("empty");
    await client.ok("POST", "/v1/models", { name, visibility: "public" });
    const { html } = await visitor.look(`/models/${username}/${name}/playground`);
    expect(html).toContain(`/models/${username}/${name}/versions/new`);
    const stranger = await signedUp();
    const other = await stranger.visitor.look(`/models/${username}/${name}/playground`);
    expect(other.html).toContain("The owner has not published a version");
  });

  it("is not there for a model that is not, or not for them", async () => {
    const hidden = await newWorld();
    for (const page of [
      `/models/${hidden.model}/playground`,
      "/models/nobody/nothing/playground",
    ]) {
      expect((await visitor.look(page)).status).toBe(404);
    }
    expect((await visitor.look(`${PAGE}?version=7`)).status).toBe(404);
  });
});

describe("a form that is sent", () => {
  it("begins a prediction that streams, and shows it with its input", async () => {
    await visitor.look(PAGE);
    const { status, location = "" } = await visitor.send(
      PAGE,
      form({ "lines-0": "A\r\ncat", "strings-4": "a\r\nb", "boolean-3": "" }),
    );
    expect(status).toBe(303);
    const [path, id] = location.split("?prediction=");
    expect(path).toBe(PAGE);
    const { body } = await client.json("GET", `/v1/predictions/${id}`);
    expect(body).toMatchObject({
      model: { version_number: 1 },
      input: { prompt: "A\ncat", steps: 20, size: "small", tiled: false, tags: ["a", "b"] },
      stream: true,
    });
    const { html } = await visitor.look(location);
    expect(html).toContain(`data-prediction="${id}"`);
    expect(html).toMatch(/<textarea[^>]*id="lines-0"[^>]*>\nA\ncat<\/textarea>/);
    expect(control(html, "boolean-3")).not.toContain("checked");
  });

  it.each([
    ["steps", { "lines-0": "x", "range-1": "0.5" }, "range-1", "fractional part"],
    ["steps", { "lines-0": "x", "range-1": "many" }, "range-1", "unable to parse"],
    ["steps", { "lines-0": "x", "range-1": "51" }, "range-1", "less than or equal to 50"],
    ["prompt", {}, "lines-0", "Field required"],
    [
      "size",
      { "lines-0": "x", "enum-2": '"huge"' },
      "enum-2",
      "&#39;small&#39; or &#39;large&#39;",
    ],
  ])(
    "comes back with what is wrong with %s, and with what was typed",
    async (_, typed, id, message) => {
      await visitor.look(PAGE);
      const { status, html } = await visitor.send(PAGE, form({ "strings-4": "kept", ...typed }));
      expect(status).toBe(422);
      expect(control(html, id)).toContain('aria-invalid="true"');
      expect(control(html, id)).toContain(`${id}-error`);
      expect(html).toMatch(new RegExp(`id="${id}-error">[^<]*${message}`));
      expect(html).toContain("kept</textarea>");
    },
  );

  it("may be the whole input as JSON, and says where that goes wrong", async () => {
    await visitor.look(PAGE);
    const sent = await visitor.send(PAGE, { version: "1", input: '{"prompt": "x"}' });
    expect(sent.status).toBe(303);
    const broken = await visitor.send(PAGE, { version: "1", input: '{"prompt": "x",\n}' });
    expect(broken.status).toBe(422);
    expect(broken.html).toContain("line 2, column 1");
    const wrong = await visitor.send(PAGE, { version: "1", input: '{"prompt": 1}' });
    expect(wrong.html).toContain("prompt: Input should be a valid string");
    const list = await visitor.send(PAGE, { version: "1", input: "[]" });
    expect(list.html).toContain("Input should be an object");
  });

  it("runs the version that it was made for", async () => {
    const { client: owner, model } = world;
    await owner.ok("POST", `/v1/models/${model}/versions`, {
      release_notes: "",
      container_image_digest: DIGEST,
      schemas: { prediction: { input: INPUT, output: {} } },
    });
    await visitor.look(`${PAGE}?version=1`);
    const { location = "" } = await visitor.send(PAGE, form({ "lines-0": "x" }));
    const { html } = await visitor.look(location);
    expect(html).toMatch(/<option value="1" selected="">1<\/option>/);
    expect(html).toContain("2 (latest)");
    // Its code stays with that version, too.
    expect(html).toContain(`&quot;model&quot;: &quot;${model}:1&quot;`);
  });
});

describe("another version", () => {
  /** Both of them, of a model of one's own. */
  async function pageOf(before: object, after: object): Promise<string> {
    const { client: owner, model } = await newWorld({ input: before, visibility: "public" });
    await owner.ok("POST", `/v1/models/${model}/versions`, {
      release_notes: "",
      container_image_digest: DIGEST,
      schemas: { prediction: { input: after, output: {} } },
    });
    return `/models/${model}/playground`;
  }

  it("has what was typed, by name and where it fits", async () => {
    const page = await pageOf(
      {
        properties: {
          gone: { type: "string" },
          width: { type: "integer" },
          steps: { type: "integer", default: 20 },
          size: { enum: ["small", "large"], default: "small" },
          style: { enum: ["plain", "fine"], default: "plain" },
          seed: { type: "string" },
          fast: { type: "boolean", default: true },
        },
      },
      {
        properties: {
          seed: { type: "integer" },
          fast: { type: "boolean", default: true },
          style: { enum: ["plain", "bold"], default: "bold" },
          size: { enum: ["tiny", "large"], default: "tiny" },
          steps: { type: "integer", default: 30 },
          width: { type: "integer" },
        },
      },
    );
    await visitor.look(`${page}?version=1`);
    const { status, html } = await visitor.send(page, {
      version: "1",
      "select-version": "2",
      switch: "other",
      "text-0": "lost",
      "integer-1": "64x",
      "integer-2": "20",
      "enum-3": '"large"',
      "enum-4": '"fine"',
      "text-5": "word",
    });
    expect(status).toBe(200);
    expect(html).toMatch(/<option value="2" selected="">2 \(latest\)<\/option>/);
    expect(control(html, "integer-0")).toContain('value=""');
    expect(control(html, "boolean-1")).not.toContain("checked");
    expect(html).toMatch(/<option value="&quot;bold&quot;" selected="">/);
    expect(html).toMatch(/<option value="&quot;large&quot;" selected="">/);
    // Nobody has typed it.
    expect(control(html, "integer-4")).toContain('value="30"');
    expect(control(html, "integer-5")).toContain('value="64x"');
    expect(html).not.toContain("data-prediction=");
  });

  it("has the JSON that was typed as it is, and the input where there are no fields", async () => {
    const page = await pageOf({ properties: { a: { type: "string" } } }, { type: "object" });
    await visitor.look(`${page}?version=1`);
    const other = { version: "1", "select-version": "2", switch: "other" };
    const raw = await visitor.send(page, { ...other, input: '{"a": ' });
    expect(raw.html).toMatch(/<textarea[^>]*id="input"[^>]*>\n{&quot;a&quot;: <\/textarea>/);
    const fields = await visitor.send(page, { ...other, "text-0": "kept" });
    expect(fields.html).toContain("&quot;a&quot;: &quot;kept&quot;");
  });
});

describe("client code", () => {
  it("is answered with the id, and with what is wrong in the form of the API", async () => {
    const id = await run({ prompt: "x" });
    expect((await visitor.look(`${PAGE}?prediction=${id}`)).html).toContain(
      `data-prediction="${id}"`,
    );
    const refused = await visitor.call("POST", PAGE, { version: 1, input: { prompt: 1 } });
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ detail: [{ loc: ["body", "input", "prompt"] }] });
    expect((await visitor.call("POST", PAGE, { version: 9, input: {} })).status).toBe(404);
    expect((await visitor.call("POST", PAGE, { input: [] })).status).toBe(422);
  });
});

describe("what a version's schema asks", () => {
  it("cannot hold up the service, and what takes too long is left to the container", async () => {
    const input = { properties: { a: { type: "string", pattern: "^(?=(a+)+$)" } } };
    const { client: owner, model } = await newWorld({ input, visibility: "public" });
    const page = `/models/${model}/playground`;
    const a = `${"a".repeat(34)}!`;
    await visitor.look(page);
    expect((await visitor.call("POST", page, { input: { a } })).status).toBe(200);
    expect((await visitor.send(page, { version: "1", "text-0": a })).status).toBe(303);
    const headers = { "validate-input": "true" };
    const { status } = await owner.create({ model, input: { a } }, headers);
    expect(status).toBe(202);
  });

  it("may be a property named __proto__", async () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}}');
    const schema = { type: "object", required: ["__proto__"], properties };
    const { model } = await newWorld({ input: schema, visibility: "public" });
    const input = JSON.parse('{"__proto__": "x"}');
    const id = await run(input, visitor, `/models/${model}/playground`);
    const { body } = await client.json<{ input: object }>("GET", `/v1/predictions/${id}`);
    expect(JSON.stringify(body.input)).toBe('{"__proto__":"x"}');
  });

  it("is met by an upload's path alone, as without validation", async () => {
    const input = { properties: { image: { type: "string", format: "uri" } } };
    const { model } = await newWorld({ input, visibility: "public" });
    const page = `/models/${model}/playground`;
    await visitor.look(page);
    const path = `/v1/uploads/${crypto.randomUUID()}`;
    const missing = await visitor.call("POST", page, { input: { image: path } });
    expect(await missing.json()).toMatchObject({
      detail: [{ msg: `${path} does not exist or is not yours` }],
    });
    const other = await visitor.call("POST", page, { input: { image: "/v1/models" } });
    expect(await other.json()).toMatchObject({ detail: [{ type: "url_parsing" }] });
  });
});

describe("how often somebody may run", () => {
  it("is limited as creating by the API is", async () => {
    const limited: Bindings = Object.assign({}, env, { RATE_LIMITS: "on" });
    const dashboard = createDashboard(app);
    const { visitor: eager } = await signedUp();
    const headers = {
      accept: "application/json",
      "content-type": "application/json",
      cookie: [...eager.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
      origin: ORIGIN,
      "x-form-token": eager.formToken,
    };
    const statuses = new Set<number>();
    // Twice the limit of test/projects/worker.ts: the end of one window and all of the next.
    for (let asked = 0; asked <= 12 && !statuses.has(429); asked++) {
      const body = JSON.stringify({ input: { prompt: "x" } });
      const request = new Request(`${ORIGIN}${PAGE}`, { method: "POST", headers, body });
      statuses.add((await dashboard.fetch(request, limited, createExecutionContext())).status);
    }
    expect([...statuses]).toEqual([200, 429]);
  });
});

describe("a run that is opened again", () => {
  it("is there for whoever began it alone", async () => {
    const id = await run({ prompt: "x" });
    const stranger = await signedUp();
    expect((await stranger.visitor.look(`${PAGE}?prediction=${id}`)).status).toBe(404);
    expect((await visitor.look(`${PAGE}?prediction=nothing`)).status).toBe(404);
  });

  it("is there with its own model alone", async () => {
    const other = await newWorld({ visibility: "public" });
    const { body } = await client.create({ model: other.model, input: { secret: "elsewhere" } });
    const { status, html } = await visitor.look(`${PAGE}?prediction=${body.id}`);
    expect(status).toBe(404);
    expect(html).not.toContain("elsewhere");
    expect(
      (await visitor.look(`/models/${other.model}/playground?prediction=${body.id}`)).status,
    ).toBe(200);
  });

  it("shows as JSON what no field can hold", async () => {
    const { body } = await client.create({
      model: world.model,
      input: { prompt: 7, tags: ["a\nb"] },
    });
    const { html } = await visitor.look(`${PAGE}?prediction=${body.id}`);
    expect(html).toMatch(/id="json-0"[^>]*>\n7<\/textarea>/);
    expect(html).toMatch(/id="json-4"[^>]*>\n\[\n {2}&quot;a\\nb&quot;\n\]<\/textarea>/);
    const sent = { ...form({}), "json-0": '"x"', "json-4": '["c\\nd"]' };
    const { location } = await visitor.send(PAGE, sent);
    const again = await client.json<{ input: object }>(
      "GET",
      `/v1/predictions/${location?.split("prediction=")[1]}`,
    );
    expect(again.body.input).toMatchObject({ prompt: "x", tags: ["c\nd"] });
  });

  it("shows as JSON an input with names that the form has not", async () => {
    const input = { prompt: "x", other: { a: 1 } };
    const { body } = await client.create({ model: world.model, input });
    const { html } = await visitor.look(`${PAGE}?prediction=${body.id}`);
    expect(html).toMatch(/<fieldset[^>]*data-fields-panel[^>]*hidden/);
    expect(html).toContain("&quot;other&quot;: {");
  });

  it("says so when its input is removed, or its version", async () => {
    const own = unique("gone");
    await client.ok("POST", "/v1/models", { name: own, visibility: "public" });
    const version = {
      release_notes: "",
      container_image_digest: DIGEST,
      schemas: { prediction: { input: INPUT, output: {} } },
    };
    const model = `${username}/${own}`;
    await client.ok("POST", `/v1/models/${model}/versions`, version);
    await client.ok("POST", `/v1/models/${model}/versions`, version);
    const { body } = await client.create({ model: `${model}:1`, input: { prompt: "before" } });
    await client.json("POST", `/v1/predictions/${body.id}/cancel`);
    await client.ok("DELETE", `/v1/models/${model}/versions/1`);
    const page = `/models/${model}/playground?prediction=${body.id}`;
    const deleted = await visitor.look(page);
    expect(deleted.html).toContain("This prediction ran version 1. The form is for version 2.");
    expect(deleted.html).toContain("before</textarea>");
    await client.ok("DELETE", `/v1/predictions/${body.id}`);
    const removed = await visitor.look(page);
    expect(removed.html).toContain("The input of this prediction was removed");
  });
});

describe("uploads of a session", () => {
  async function begin(by: Visitor, size: number): Promise<Upload> {
    await by.look("/");
    const facts = { size, mime_type: "image/png", name: "a cat.png" };
    const response = await by.call("POST", "/uploads", facts);
    expect(response.status).toBe(200);
    return response.json();
  }

  it("become files that an input takes", async () => {
    const { model } = await newWorld({
      input: { type: "object", properties: { image: { type: "string", format: "uri" } } },
      visibility: "public",
    });
    const size = PART + MIB;
    const begun = await begin(visitor, size);
    expect(begun).toMatchObject({ status: "pending", size, part_size: PART });
    const etags = await sendParts(begun, bytesOf(size));
    const asked = await visitor.call("GET", `/uploads/${begun.id}`);
    expect((await asked.json<Upload>()).parts).toHaveLength(2);
    const completed = await visitor.call("POST", `/uploads/${begun.id}/complete`, { etags });
    const { url, status } = await completed.json<Upload>();
    expect(status).toBe("completed");
    const id = await run({ image: url }, visitor, `/models/${model}/playground`);
    const { body } = await client.json<{ input: object }>("GET", `/v1/predictions/${id}`);
    expect(body.input).toEqual({ image: url });
  });

  it("can be given up, and are nobody else's", async () => {
    const begun = await begin(visitor, 10);
    const { visitor: stranger } = await signedUp();
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/cancel"],
    ] as const) {
      expect((await stranger.call(method, `/uploads/${begun.id}${path}`)).status).toBe(404);
    }
    const completion = await stranger.call("POST", `/uploads/${begun.id}/complete`, {
      etags: ["x"],
    });
    expect(completion.status).toBe(404);
    expect((await visitor.call("POST", `/uploads/${begun.id}/cancel`)).status).toBe(200);
    expect((await visitor.call("GET", `/uploads/${begun.id}`)).status).toBe(404);
  });

  it("are refused in words", async () => {
    await visitor.look("/");
    const none = await visitor.call("POST", "/uploads", { size: 0, mime_type: "image/png" });
    expect(none.status).toBe(422);
    expect(await none.json()).toMatchObject({ detail: [{ loc: ["body", "size"] }] });
  });
});
