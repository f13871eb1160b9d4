/** Values of the playground's form: typed for another version, or the input of an earlier run. */
import { describe, expect, it } from "vitest";
import { control, form, INPUT, newPlayground } from "../support/playground.ts";
import { signedUp } from "../support/visitor.ts";
import { DIGEST, newWorld, unique } from "../support/world.ts";

const { world, page: PAGE, visitor, username, client, run } = await newPlayground();

describe("another version", () => {
  /** A model of the user's own with these two versions. */
  async function pageOf(before: object, after: object): Promise<string> {
    const { client: owner, model } = await newWorld({ input: before, visibility: "public" });
    await owner.ok("POST", `/v1/models/${model}/versions`, {
      release_notes: "",
      container_image_digest: DIGEST,
      schemas: { prediction: { input: after, output: {} } },
    });
    return `/models/${model}`;
  }

  it("another version keeps what was typed, by name and where it fits", async () => {
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
    // The value is the new default, because nobody has typed one.
    expect(control(html, "integer-4")).toContain('value="30"');
    expect(control(html, "integer-5")).toContain('value="64x"');
    expect(html).not.toContain("data-prediction=");
  });

  it("another version keeps typed JSON unchanged, and shows fields as JSON where it has none", async () => {
    const page = await pageOf({ properties: { a: { type: "string" } } }, { type: "object" });
    await visitor.look(`${page}?version=1`);
    const other = { version: "1", "select-version": "2", switch: "other" };
    const raw = await visitor.send(page, { ...other, input: '{"a": ' });
    expect(raw.html).toMatch(/<textarea[^>]*id="input"[^>]*>\n{&quot;a&quot;: <\/textarea>/);
    const fields = await visitor.send(page, { ...other, "text-0": "kept" });
    expect(fields.html).toContain("&quot;a&quot;: &quot;kept&quot;");
  });
});

describe("a run that is opened again", () => {
  it("an opened run is shown only to the user who began it", async () => {
    const id = await run({ prompt: "x" });
    const stranger = await signedUp();
    expect((await stranger.visitor.look(`${PAGE}?prediction=${id}`)).status).toBe(404);
    expect((await visitor.look(`${PAGE}?prediction=nothing`)).status).toBe(404);
  });

  it("an opened run is shown only at its own model", async () => {
    const other = await newWorld({ visibility: "public" });
    const { body } = await client.create({ model: other.model, input: { secret: "elsewhere" } });
    const { status, html } = await visitor.look(`${PAGE}?prediction=${body.id}`);
    expect(status).toBe(404);
    expect(html).not.toContain("elsewhere");
    expect((await visitor.look(`/models/${other.model}?prediction=${body.id}`)).status).toBe(200);
  });

  it("an opened run is linked from its page, with its files while they exist, and asks for its secrets again", async () => {
    const input = {
      properties: {
        image: { type: "string", format: "uri", "x-order": 0 },
        key: { type: "string", format: "password", "x-order": 1 },
        prompt: { type: "string", "x-order": 2 },
      },
    };
    const other = await newWorld({ visibility: "public", input });
    const image = "https://example.com/cat.png";
    const { body } = await client.create({
      model: other.model,
      input: { image, key: "hunter2", prompt: "a cat" },
    });
    await client.cancel(body.id);
    const page = (await visitor.look(`/predictions/${body.id}`)).html;
    expect(page).not.toContain("hunter2");
    const [, address = ""] = /href="([^"]+)">Run again with changes/.exec(page) ?? [];
    const { html } = await visitor.look(address);
    expect(html).not.toContain("hunter2");
    expect(control(html, "secret-1")).toContain('value=""');
    expect(control(html, "file-0")).toContain(`value="${image}"`);
    expect(html).toContain("a cat</textarea>");
    expect(html).toContain("Enter its secrets again: they are not filled in.");
  });

  it("an opened run is shown as JSON if a field cannot hold a value", async () => {
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

  it("an opened run is shown as JSON if its input has names that the form does not have", async () => {
    const input = { prompt: "x", other: { a: 1 } };
    const { body } = await client.create({ model: world.model, input });
    const { html } = await visitor.look(`${PAGE}?prediction=${body.id}`);
    expect(html).toMatch(/<fieldset[^>]*data-fields-panel[^>]*hidden/);
    expect(html).toContain("&quot;other&quot;: {");
  });

  it("an opened run shows that its input, or its version, was removed", async () => {
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
    const page = `/models/${model}?prediction=${body.id}`;
    const deleted = await visitor.look(page);
    expect(deleted.html).toContain("This prediction ran version 1. This page is for version 2.");
    expect(deleted.html).toContain("before</textarea>");
    await client.ok("DELETE", `/v1/predictions/${body.id}`);
    const removed = await visitor.look(page);
    expect(removed.html).toContain("The input of this prediction was removed");
  });
});
