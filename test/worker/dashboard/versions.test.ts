/** Pages of versions: publishing, showing and deleting them without client code. */
import { describe, expect, it } from "vitest";
import { SchemaView } from "../../../src/dashboard/models/version.tsx";
import type { Json } from "../../../src/protocol/common.ts";
import { sized } from "../../support/sized.ts";
import { ORIGIN } from "../support/client.ts";
import { uploaded } from "../support/files.ts";
import { newImages } from "../support/images.ts";
import { INPUT, issueOf, NEW_VERSION, owner } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { Visitor } from "../support/visitor.ts";
import { DIGEST, newClient } from "../support/world.ts";

/** Returns the rows of the list: each is a version with its badges. */
async function listed(path: string): Promise<string[]> {
  const { html } = await new Visitor().look(`${path}/versions`);
  return [...html.matchAll(/<th scope="row">(.*?)<\/th>/gs)].map(([, row = ""]) =>
    textOf(row).trim(),
  );
}

const WRONG: [string, string, string][] = [
  ["container_image_digest", "latest", "Use sha256: followed by 64 hex digits"],
  ["input", '{"type": "text"}', "type: "],
  ["hardware_identifier", "abacus", "'abacus' does not exist"],
  ["weights", "/a none", "Line 1, upload: this is not a file of the deployment"],
  ["input", '{"type": ', "Unexpected end of JSON input"],
  ["input", '{"properties": {"a": {"minimum": "1"}}}', "properties.a.minimum: "],
  ["output", "[]", ""],
  ["timeout_seconds", "soon", "finite number"],
  ["max_concurrency", "0", "greater than or equal to 1"],
  ["variable_names", "HF_TOKEN lower case", "'lower': upper-case letters"],
  ["repository", "elsewhere.example.com/story", "is not below"],
  ["egress_hosts", "hf.co https://huggingface.co", "'https://huggingface.co': Use a lower-case"],
  ["egress_hosts", "", "Enter at least one host."],
  ["egress_hosts", Array(51).fill("a.example.com").join("\n"), "at most 50 items"],
  ["weights", "/models/a", "Line 1, upload: "],
  ["weights", "/a none\n/etc/a 2", "Line 2, path: the target must not hide /etc"],
  ["weights", "/a 1\n/a 2", "two weights have the target /a"],
];

describe("a version", () => {
  it("a version that has not started is marked in the list, the latest or not", async () => {
    const { images, model } = await newImages({ visibility: "public" });
    await images.push("v1", { Entrypoint: ["vllm", "serve"] });
    await images.publish({ image: "v1" });
    await images.publish({ image: "v1", compatibilities: { vendora_chat_completions: true } });
    await images.publish({ image: "v1" });
    expect(await listed(`/models/${model}`)).toEqual([
      "3 latest not started yet",
      "2 not started yet",
      "1 not started yet",
    ]);
  });

  it("a version is published, and shown with how to call it", async () => {
    const { visitor, username, path } = await owner();
    const published = await visitor.send(`${path}/versions/new`, {
      ...NEW_VERSION,
      release_notes: "Faster",
      input: JSON.stringify(INPUT),
      output: '{"type": "array", "items": {"type": "string"}}',
      stream_output: "true",
      compatibilities: ["vendora_chat_completions"],
      variable_names: "HF_TOKEN\r\nSEED",
      max_concurrency: "4",
    });
    expect(published.location).toBe(`${path}/versions/1`);
    const { html } = await new Visitor().look(`${path}/versions/1`);
    const text = textOf(html);
    expect(text).toContain("Faster");
    expect(text).toContain(DIGEST);
    expect(text).toContain("prompt string What to do — at most 300 characters");
    expect(text).toContain("steps integer optional 1 to 50, default 20");
    expect(text).toContain('size small · large optional How big — default "small"');
    expect(html.indexOf(">prompt<")).toBeLessThan(html.indexOf(">steps<"));
    expect(text).toContain("array of string");
    expect(text).toContain("OpenAI chat completions");
    expect(text).toContain("HF_TOKEN, SEED");
    expect(text).toContain("4 per container");
    expect((await new Visitor().look(`${path}/versions`)).html).toContain("Faster");

    const { html: api } = await new Visitor().look(`${path}/api`);
    const calls = textOf(api);
    expect(calls).toContain(`curl '${ORIGIN}/v1/predictions'`);
    expect(calls).toContain(`"model": "${username}/story"`);
    expect(calls).toContain('"prompt": "some text"');
    expect(calls).toContain('"size": "small"');
    expect(calls).toContain(`${ORIGIN}/openai/v1`);
  });

  it("a version's page shows what it changes for callers", async () => {
    const { visitor, path } = await owner();
    const publish = (properties: object, more: object = {}) =>
      visitor.send(`${path}/versions/new`, {
        ...NEW_VERSION,
        input: JSON.stringify({ type: "object", properties }),
        ...more,
      });
    await publish({ steps: { type: "integer", default: 20 }, old: { type: "string" } });
    await publish({ steps: { type: "integer", default: 30 }, size: { enum: ["s", "l"] } });
    await publish({}, { input: "{}", output: '{"type": "string"}' });
    await visitor.send(`${path}/versions/2/delete`);
    await publish({}, { input: "{}", output: '{"type": "string"}' });
    const read = async (page: string) => textOf((await new Visitor().look(path + page)).html);
    expect(await read("/versions/1")).not.toContain("Changes since");
    expect(await read("/versions/3")).toContain(
      "Changes since version 1 Input ~ changed whole schema type object → anything − removed steps integer, default 20 − removed old text Output ~ changed whole schema type anything → text",
    );
    expect(await read("/versions/4")).toContain("since version 3 Schema changes: none");
    expect(await read("/versions")).toMatch(
      /4 latest not started yet First None .* 3 not started yet First ~ changed input − removed steps − removed old ~ changed output .* 1 not started yet First — /,
    );
  });

  it("a version has weights, a line for each, and the next form begins with them", async () => {
    const { visitor, username, path } = await owner();
    const client = await newClient(username);
    const [one, other] = [await uploaded(client), await uploaded(client)];
    const send = (weights: string) =>
      visitor.send(`${path}/versions/new`, { ...NEW_VERSION, weights });
    await send(`/models/a b.gguf ${one.id}\r\n\r\n  /models/c ${other.url}`);
    const shown = async (page: string) => textOf((await visitor.look(path + page)).html);
    expect(await shown("/versions/1")).toContain("Weights /models/a b.gguf, /models/c");
    const lines = `/models/a b.gguf ${one.id}\n/models/c ${other.id}`;
    expect((await visitor.look(`${path}/versions/new`)).html).toContain(lines);
    await send(lines);
    expect(await shown("/versions/2")).toContain("Weights /models/a b.gguf, /models/c");
    await send("");
    expect(await shown("/versions/3")).not.toContain("/models/c");
  });

  it("the next form begins with the values of the latest version", async () => {
    const { visitor, path } = await owner();
    const isolation = "account";
    const first = { ...NEW_VERSION, interface: "vendora", timeout_seconds: "90", isolation };
    await visitor.send(`${path}/versions/new`, {
      ...first,
      compatibilities: ["vendora_embeddings"],
    });
    const { html } = await visitor.look(`${path}/versions/new`);
    expect(textOf(html)).toContain(`curl ${ORIGIN}/v1${path}/versions `);
    expect(html).toMatch(/value="vendora" checked=""/);
    expect(html).toMatch(/value="account" checked=""/);
    expect(html).toMatch(/value="vendora_embeddings" checked=""/);
    expect(html).toContain('value="90"');
    expect(html).toContain("&quot;type&quot;: &quot;object&quot;");
  });

  it.each(WRONG.slice(0, sized(4, WRONG.length)))(
    "a wrong %s publishes no version: %s",
    async (field, value, words) => {
      const { visitor, path } = await owner();
      const { status, html } = await visitor.send(`${path}/versions/new`, {
        ...NEW_VERSION,
        release_notes: "still there",
        ...(field === "egress_hosts" && { egress: "hosts" }),
        [field]: value,
      });
      expect(status).toBe(422);
      expect(issueOf(html, field)).toContain(words);
      expect(issueOf(html, field)).not.toBe("");
      expect(html).toContain('value="still there"');
      expect((await visitor.look(`${path}/versions/1`)).status).toBe(404);
    },
  );
});

it("texts in schemas are shown as text with code, without links and tags, and an endless schema with a hint", () => {
  const shown = (schema: Json) => String(SchemaView({ title: "Input", schema }));
  const html = shown({
    properties: {
      "<b>name</b>": {
        description: "`code` [label](https://example.com) <img src=x>",
        default: "` [x](javascript:alert(1)) `",
        pattern: "`[y](https://example.com)`",
        enum: ["<i>", { a: 1 }],
      },
    },
  });
  expect(html).toContain("<code>code</code>");
  expect(html).not.toMatch(/<(?:a|b|i|img)\b/);
  expect(html).toContain("<code>{&quot;a&quot;:1}</code>");
  expect(shown({ $ref: "#" })).toContain("This schema is too large to show in full");
});
