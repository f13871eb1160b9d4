/** The playground without client code, and the requests of its client code. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import type { Bindings } from "../../../src/env.ts";
import { ORIGIN } from "../support/client.ts";
import { newOwnImages } from "../support/images.ts";
import { textOf } from "../support/page-text.ts";
import { control, form, INPUT, newPlayground } from "../support/playground.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { DIGEST, newWorld } from "../support/world.ts";

const { world, page: PAGE, visitor, client, run } = await newPlayground();

describe("the page of the playground", () => {
  it("the page has only JSON for a version without properties", async () => {
    const { model } = await newWorld({ input: { type: "object" }, visibility: "public" });
    const { html } = await visitor.look(`/models/${model}`);
    expect(html).not.toContain("data-fields-panel");
    expect(html).not.toContain("data-switch-mode");
  });

  it("the page has a field for messages of a chat, even if its schema has none", async () => {
    const { model } = await newWorld({
      visibility: "public",
      compatibilities: { vendora_chat_completions: true },
      configuration: { interface: "vendora" },
    });
    const page = `/models/${model}`;
    const { html } = await visitor.look(page);
    expect(html).toContain('id="messages-0"');
    expect(html).toContain("client.chat.completions.create");
    const { location } = await visitor.send(page, { version: "1", "messages-0": "Who is it?" });
    const id = location?.split("prediction=")[1];
    const { body } = await client.json<{ input: object }>("GET", `/v1/predictions/${id}`);
    expect(body.input).toEqual({ messages: [{ role: "user", content: "Who is it?" }] });
  });

  it("the page of a version that does not exist leads to the versions, for visitors too", async () => {
    for (const by of [visitor, new Visitor()])
      for (const page of [`${PAGE}?version=9`, `${PAGE}/versions/9`]) {
        const { status, html } = await by.look(page);
        expect([page, status]).toEqual([page, 404]);
        expect(html).toContain("Version 9 not found");
        expect(html).toContain(`<a href="${PAGE}/versions">View all versions</a>`);
      }
  });

  it("the page shows a visitor the fields, and logging in leads back to them", async () => {
    const { html } = await new Visitor().look(PAGE);
    expect(html).toContain("data-fields-panel");
    expect(html).toMatch(/<form id="sign-in-to-run" action="\/sign-in"><input[^>]*name="next"/);
    expect(textOf(html)).toContain("Log in to run");
    expect(textOf(html)).toContain("Run the model to see output here.");
  });

  it("the page folds the optional fields, unless one has a value other than its default", async () => {
    const fold = async (query = "") =>
      /<details[^>]*>(?=<summary[^>]*>\s*More options)/.exec(
        (await visitor.look(PAGE + query)).html,
      )?.[0];
    expect(await fold()).toBe("<details>");
    const plain = await run({ prompt: "a", steps: 20, size: "small", tiled: true });
    expect(await fold(`?prediction=${plain}`)).toBe("<details>");
    const other = await run({ prompt: "a", tiled: false });
    expect(await fold(`?prediction=${other}`)).toBe('<details open="">');
  });

  it("the page takes JSON for a version that waits for its first start, and shows why", async () => {
    const { visitor: own, images, model } = await newOwnImages();
    await images.push("v1", { Entrypoint: ["vllm", "serve"] });
    await images.publish({ image: "v1" });
    const page = `/models/${model}`;
    const { html } = await own.look(page);
    expect(textOf(html)).toContain(
      "are detected when it first starts. Until then, enter the input as JSON",
    );
    expect(html).toMatch(/<textarea id="input" name="input"/);
    expect((await own.send(page, { version: "1", input: '{"prompt": "x"}' })).status).toBe(303);
    await images.publish({ image: "v1", compatibilities: { vendora_chat_completions: true } });
    expect((await own.look(page)).html).not.toContain("are detected when it first starts");
  });
});

describe("a form that is sent", () => {
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
    "a form with an error in %s shows the error, and keeps what was typed",
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

  it("a form may be the whole input as JSON, and shows where that has errors", async () => {
    await visitor.look(PAGE);
    const sent = await visitor.send(PAGE, { version: "1", input: '{"prompt": "x"}' });
    expect(sent.status).toBe(303);
    const broken = await visitor.send(PAGE, { version: "1", input: '{"prompt": "x",\n}' });
    expect(broken.status).toBe(422);
    expect(broken.html).toContain("line 2 column 1");
    const wrong = await visitor.send(PAGE, { version: "1", input: '{"prompt": 1}' });
    expect(wrong.html).toContain("prompt: Input should be a valid string");
    const list = await visitor.send(PAGE, { version: "1", input: "[]" });
    expect(list.html).toContain("Input should be an object");
  });

  it("a form runs the version that it was made for", async () => {
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
    expect(html).toContain("2 (default)");
    // The code names that version, too.
    expect(html).toContain(`&quot;model&quot;: &quot;${model}:1&quot;`);
  });
});

describe("client code", () => {
  it("an upload that is refused has an error in words", async () => {
    const none = await visitor.call("POST", "/uploads", { size: 0, mime_type: "image/png" });
    expect(none.status).toBe(422);
    expect(await none.json()).toMatchObject({ detail: [{ loc: ["body", "size"] }] });
  });

  it("client code gets the ID, and errors in the form of the API", async () => {
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

describe("a version's schema", () => {
  it("a costly schema cannot hold up the service: the container validates what takes too long", async () => {
    const input = { properties: { a: { type: "string", pattern: "^(?=(a+)+$)" } } };
    const { client: owner, model } = await newWorld({ input, visibility: "public" });
    const page = `/models/${model}`;
    const a = `${"a".repeat(34)}!`;
    await visitor.look(page);
    expect((await visitor.call("POST", page, { input: { a } })).status).toBe(200);
    expect((await visitor.send(page, { version: "1", "text-0": a })).status).toBe(303);
    const headers = { "validate-input": "true" };
    const { status } = await owner.create({ model, input: { a } }, headers);
    expect(status).toBe(202);
  });

  it("a schema may have a property named __proto__", async () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}}');
    const schema = { type: "object", required: ["__proto__"], properties };
    const { model } = await newWorld({ input: schema, visibility: "public" });
    const input = JSON.parse('{"__proto__": "x"}');
    const id = await run(input, visitor, `/models/${model}`);
    const { body } = await client.json<{ input: object }>("GET", `/v1/predictions/${id}`);
    expect(JSON.stringify(body.input)).toBe('{"__proto__":"x"}');
  });

  it("a schema's uri accepts an upload's path, as without validation", async () => {
    const input = { properties: { image: { type: "string", format: "uri" } } };
    const { model } = await newWorld({ input, visibility: "public" });
    const page = `/models/${model}`;
    await visitor.look(page);
    const path = `/v1/uploads/${crypto.randomUUID()}`;
    const missing = await visitor.call("POST", page, { input: { image: path } });
    expect(await missing.json()).toMatchObject({
      detail: [{ msg: `${path} was not found, or you do not have access to it` }],
    });
    const other = await visitor.call("POST", page, { input: { image: "/v1/models" } });
    expect(await other.json()).toMatchObject({ detail: [{ type: "url_parsing" }] });
  });
});

it("a user's runs are limited as creates of the API are", async () => {
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
  // The loop covers twice the limit of test/projects/worker.ts: the end of one window and all of the next.
  for (let asked = 0; asked <= 12 && !statuses.has(429); asked++) {
    const body = JSON.stringify({ input: { prompt: "x" } });
    const request = new Request(`${ORIGIN}${PAGE}`, { method: "POST", headers, body });
    statuses.add((await dashboard.fetch(request, limited, createExecutionContext())).status);
  }
  expect([...statuses]).toEqual([200, 429]);
});
