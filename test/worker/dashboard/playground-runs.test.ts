/** Input of the playground that is kept for another version, runs that are opened again, and recent runs. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { newCustomer } from "../support/customer.ts";
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
    expect(html).toMatch(/<option value="2" selected="">2 \(default\)<\/option>/);
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
    expect(html).toContain("Secrets are not filled in. Enter them again.");
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
    expect(deleted.html).toContain("This prediction ran on version 1. You are viewing version 2.");
    expect(deleted.html).toContain("before</textarea>");
    await client.ok("DELETE", `/v1/predictions/${body.id}`);
    const removed = await visitor.look(page);
    expect(removed.html).toContain("The input of this prediction was deleted");
  });
});

describe("a run that is opened again in a chat", async () => {
  const { model } = await newWorld({
    input: {
      type: "object",
      properties: {
        messages: { type: "array", items: {} },
        max_tokens: { type: "integer" },
        api_key: { type: "string", format: "password" },
      },
    },
    compatibilities: { vendora_chat_completions: true },
    visibility: "public",
  });
  const messages = [{ role: "user", content: "Who is the Hatter?" }];
  const run = async (input: object) => (await client.create({ model, input })).body.id;
  const look = async (query: string) => (await visitor.look(`/models/${model}?${query}`)).html;

  it("a chat has the conversation, the settings and the version of the run, without secrets", async () => {
    const id = await run({ messages, max_tokens: 7, api_key: "s3cret" });
    const html = await look(`prediction=${id}`);
    const opened = /data-opened="([^"]*)"/.exec(html)?.[1]?.replaceAll("&quot;", '"') ?? "";
    expect(JSON.parse(opened)).toMatchObject({
      turns: [
        { role: "user", text: "Who is the Hatter?" },
        { role: "assistant", state: "running", prediction: id },
      ],
    });
    expect(html).toMatch(/<input[^>]*value="7"/);
    expect(html).toContain("Secrets are not filled in");
    expect(html).not.toContain("s3cret");
    // The last two lines are for browsers without client code.
    expect(html).toMatch(/data-without-scripts[^>]*>.*data-prediction=/s);
    expect(html).toContain(`view=form&amp;prediction=${id}`);
  });

  it("a chat stays a form where the address asks for one, and so do its links", async () => {
    const id = await run({ messages });
    const html = await look(`prediction=${id}&view=form`);
    expect(html).toContain("data-playground=");
    expect(html).toContain(`?prediction=${id}&amp;view=form" aria-current="page"`);
    expect(html).toContain(`view=chat&amp;prediction=${id}`);
    expect(html).not.toContain("cannot show this input");
  });

  it("a chat whose input has unknown parts opens as a form, with a hint", async () => {
    const id = await run({ messages: [{ role: "user", content: [{ type: "input_audio" }] }] });
    const html = await look(`prediction=${id}`);
    expect(html).toContain("data-playground=");
    expect(html).toContain("The chat cannot show this input");
    expect(html).not.toContain(`view=chat&amp;prediction=`);
  });
});

/** Returns a customer with ended runs of these inputs. */
const withRuns = (...inputs: object[]) =>
  withOutputs(inputs.map((input) => ({ input, output: `of ${JSON.stringify(input)}` })));

async function withOutputs(runs: { input: object; output: Json }[]) {
  const who = await newCustomer();
  const runner = await who.runner();
  const ids: string[] = [];
  for (const { input, output } of runs) {
    ids.push(await who.waiting({ input }));
    const { channel } = await runner.work();
    await channel.report([{ event: "output", data: output }], {
      status: "succeeded",
      output: "items",
      execution_seconds: 2,
    });
  }
  const address = `/models/${who.model}`;
  const look = async (path: string) => (await who.visitor.look(`${address}${path}`)).html;
  return { who, ids, address, look };
}

describe("recent runs", () => {
  it("a recent run is named by its input, however large its output is", async () => {
    const vectors = Array.from({ length: 40 }, () => Array.from({ length: 64 }, Math.random));
    const texts = Array.from({ length: 400 }, (_, n) => `A sentence for the embedding ${n}`);
    const { look } = await withOutputs([
      { input: { prompt: "Few words" }, output: "much ".repeat(20_000) },
      { input: { input: ["A cat", "A dog"] }, output: vectors },
      { input: { input: texts }, output: "short" },
      { input: { prompt: "Too much. ".repeat(10_000) }, output: "short" },
    ]);
    const html = await look("/runs");
    expect(html).toContain("Few words");
    expect(html).toContain("A cat, A dog");
    expect(html).toContain("A sentence for the embedding 0, A sentence");
    expect(html).not.toContain("Too much");
  });

  it("recent runs are only the user's own, of this model", async () => {
    const [one, other] = await Promise.all([withRuns({ prompt: "mine" }), withRuns({})]);
    expect(await other.look("/runs")).not.toContain("mine");
    const { html } = await other.who.visitor.look(`${one.address}/runs`);
    expect(html).toMatch(/<nav[^>]*data-recent[^>]*hidden/);
    expect(html).not.toContain("mine");
  });

  it("a recent run of the form beside another view links back to the form", async () => {
    const { ids, address, look } = await withRuns({ prompt: "A fox" });
    const link = `<a href="${address}?prediction=${ids[0]}&amp;view=form">`;
    expect(await look("/runs?view=form")).toContain(link);
  });

  it("a recent run stays in the list after its data was removed", async () => {
    const { who, ids, look } = await withRuns({ prompt: "forgotten" });
    await who.client.ok("DELETE", `/v1/predictions/${ids[0]}`);
    const html = await look("/runs");
    expect(html).toContain(`Run …${ids[0]?.slice(-4)}`);
    expect(html).not.toContain("forgotten");
  });
});
