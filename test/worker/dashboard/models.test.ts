/** The pages of models, as visitors and owners use them without client code. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ORIGIN } from "../support/client.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { DIGEST, newClient, operator, unique } from "../support/world.ts";

const NEW_MODEL = {
  name: "story",
  visibility: "public",
  description: "",
  overview: "",
  source_url: "",
  license_url: "",
  paper_url: "",
  cover_image_url: "",
  hardware_identifier: "",
};

const NEW_VERSION = {
  release_notes: "First",
  container_image_digest: DIGEST,
  image: "",
  interface: "cog",
  input: '{"type": "object"}',
  output: "{}",
  hardware_identifier: "",
  variable_names: "",
  timeout_seconds: "",
  max_concurrency: "",
  idle_seconds: "",
};

/** Somebody with a model, made through the pages. */
async function owner(fields: Record<string, string | string[]> = {}) {
  const person = await signedUp();
  const made = await person.visitor.send("/models/new", { ...NEW_MODEL, ...fields });
  expect(made.status).toBe(303);
  return { ...person, path: made.location ?? "" };
}

/** As the page says it, in one line. */
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll(/\s+/g, " ");

/** What is said below a field. */
const issueOf = (html: string, field: string) =>
  textOf(html.split(`id="${field}-error">`)[1]?.split("</p>")[0] ?? "");

describe("a model", () => {
  it("is made, found, and shown to everybody", async () => {
    const category = unique("kind");
    await operator.put(`/v1/operator/categories/${category}`, { name: "Tall tales" });
    const { visitor, username, path } = await owner({
      description: "Goes on with a story",
      overview: "# How\r\n\r\n<script>alert(1)</script> with **care**",
      category_slugs: [category],
      source_url: "https://example.com/source",
      cover_image_url: "https://example.com/cover.png",
    });
    expect(path).toBe(`/models/${username}/story`);
    expect((await visitor.look(path)).html).toContain("Next, publish its first version");

    const { html, status } = await new Visitor().look(path);
    expect(status).toBe(200);
    expect(html).toContain("Goes on with a story");
    expect(html).toContain("<h2>How</h2>");
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt; with <strong>care</strong>");
    expect(html).toContain("Tall tales");
    expect(html).toContain('href="https://example.com/source" rel="nofollow ugc noopener"');
    expect(html).not.toContain("cover.png");
    expect(html).not.toContain("/settings");
    expect(textOf(html)).toContain("Predictions 0");
    expect(textOf(html)).toContain("No version yet");

    const { html: list } = await new Visitor().look(`/models?category=${category}`);
    expect(list).toContain(`href="${path}"`);
    const { html: none } = await new Visitor().look(`/models?category=${unique("none")}`);
    expect(textOf(none)).toContain("No models match these filters");
    const { html: found } = await new Visitor().look(`/models?q=${username}`);
    expect(found).toContain(`href="${path}"`);
  });

  it("is not made of what is wrong, which is said at its field with what was typed", async () => {
    const { visitor } = await signedUp();
    const { status, html } = await visitor.send("/models/new", {
      ...NEW_MODEL,
      name: "Not a name",
      paper_url: "ftp://example.com",
      hardware_identifier: "abacus",
      description: "kept & typed",
    });
    expect(status).toBe(422);
    expect(issueOf(html, "name")).toContain("lower-case letters and digits");
    expect(issueOf(html, "paper_url")).not.toBe("");
    expect(html).toContain('value="kept &amp; typed"');
    const unknown = await visitor.send("/models/new", {
      ...NEW_MODEL,
      hardware_identifier: "abacus",
    });
    expect(issueOf(unknown.html, "hardware_identifier")).toContain("'abacus' does not exist");
  });

  it("has a name of its own", async () => {
    const { visitor, path } = await owner();
    const { status, html } = await visitor.send("/models/new", NEW_MODEL);
    expect(status).toBe(409);
    expect(textOf(html)).toContain("You already have a model 'story'.");
    expect((await visitor.look(path)).status).toBe(200);
  });

  it("is changed and renamed", async () => {
    const { visitor, username, path } = await owner({ paper_url: "https://example.com/paper" });
    const { html: form } = await visitor.look(`${path}/settings`);
    expect(form).toContain('value="https://example.com/paper"');
    const saved = await visitor.send(`${path}/settings`, {
      ...NEW_MODEL,
      name: "saga",
      visibility: "restricted",
      description: "Longer",
    });
    expect(saved.location).toBe(`/models/${username}/saga/settings`);
    const { html } = await visitor.look(`/models/${username}/saga`);
    expect(html).toContain("Longer");
    expect(html).toContain("restricted");
    expect(html).not.toContain("example.com/paper");
    expect((await visitor.look(path)).status).toBe(404);
  });

  it("is deleted by whoever types its name", async () => {
    const { visitor, username, path } = await owner();
    const refused = await visitor.send(`${path}/delete`, { typed_name: "stori" });
    expect(refused.status).toBe(422);
    expect(issueOf(refused.html, "typed_name")).toContain("Type story to confirm.");
    const deleted = await visitor.send(`${path}/delete`, { typed_name: "story" });
    expect(deleted.location).toBe(`/models?owner=${username}`);
    const { html } = await visitor.look(`/models?owner=${username}`);
    expect(textOf(html)).toContain("story deleted.");
    expect(textOf(html)).toContain("You have no models yet");
    expect((await visitor.look(path)).status).toBe(404);
  });
});

/** All that is below a model's address. */
const PAGES = ["", "/versions", "/versions/1", "/versions/new", "/api", "/settings"];
const ACTIONS = ["/settings", "/delete", "/versions/new", "/versions/1/delete"];

describe("a model of somebody else", () => {
  it("is as if it were not there when it is private", async () => {
    const { visitor, username, path } = await owner({ visibility: "private" });
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    const { visitor: stranger } = await signedUp();
    for (const page of PAGES) {
      expect((await visitor.look(path + page)).status).toBe(200);
      const { status, html } = await stranger.look(path + page);
      const missing = await stranger.look(`/models/${username}/nothing${page}`);
      expect({ page, status }).toEqual({ page, status: 404 });
      expect(html.replaceAll("story", "nothing")).toBe(missing.html);
    }
    for (const action of ACTIONS) {
      const fields = { ...NEW_MODEL, ...NEW_VERSION, typed_name: "story" };
      expect((await stranger.send(path + action, fields)).status).toBe(404);
    }
    const { html } = await stranger.look(`/models?q=${username}`);
    expect(html).not.toContain(path);
    const { html: own } = await visitor.look(`/models?owner=${username}`);
    expect(own).toContain(`href="${path}"`);
    expect(own).toContain('<span class="badge">private</span>');
    expect((await visitor.look(`/models?q=${username}`)).html).toContain(`href="${path}"`);
  });

  it("is looked at and not touched when it is public", async () => {
    const { visitor, path } = await owner();
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    const { visitor: stranger } = await signedUp();
    for (const page of ["", "/versions", "/versions/1", "/api"]) {
      expect((await stranger.look(path + page)).status).toBe(200);
      expect((await new Visitor().look(path + page)).status).toBe(200);
    }
    for (const page of ["/settings", "/versions/new"])
      expect((await stranger.look(path + page)).status).toBe(403);
    for (const action of ACTIONS) {
      const fields = { ...NEW_MODEL, ...NEW_VERSION, name: "mine", typed_name: "story" };
      expect((await stranger.send(path + action, fields)).status).toBe(403);
    }
    expect((await stranger.look(`${path}/versions/1`)).html).not.toContain("/delete");
    expect((await visitor.look(`${path}/versions/1`)).html).toContain("/delete");
  });
});

describe("the list", () => {
  it("goes on and back, newest first", async () => {
    const { visitor, username } = await signedUp();
    for (let n = 1; n <= 21; n++)
      await visitor.send("/models/new", { ...NEW_MODEL, name: `model-${n}` });
    const names = (html: string) =>
      [...html.matchAll(/href="\/models\/[^/"]+\/(model-\d+)"/g)].map(([, name]) => name);
    const linkOf = (html: string, rel: string) =>
      new RegExp(`href="([^"]*)" rel="${rel}"`).exec(html)?.[1]?.replaceAll("&amp;", "&");
    for (const reader of [visitor, new Visitor()]) {
      const first = await reader.look(`/models?owner=${username}`);
      expect(names(first.html)).toHaveLength(20);
      expect(names(first.html)[0]).toBe("model-21");
      expect(linkOf(first.html, "prev")).toBeUndefined();
      const second = await reader.look(linkOf(first.html, "next") ?? "");
      expect(names(second.html)).toEqual(["model-1"]);
      const back = await reader.look(linkOf(second.html, "prev") ?? "");
      expect(names(back.html)).toEqual(names(first.html));
    }
  });

  it("takes any address: what it cannot be is as if nothing had been asked for", async () => {
    for (const query of ["sort=loudest", `q=${"x".repeat(60)}`, "q=%22%27%28%2A", "category=%00"])
      expect((await new Visitor().look(`/models?${query}`)).status).toBe(200);
    expect((await new Visitor().look(`/models?owner=${unique("nobody")}`)).status).toBe(404);
    expect((await new Visitor().look("/models?cursor=bad")).status).toBe(400);
  });

  it("knows nobody by the name of an account that was given up", async () => {
    const { username } = await signedUp();
    const name = `gone/${username}`;
    await env.DB.prepare("UPDATE users SET username = ?, deleted_at = ? WHERE username = ?")
      .bind(name, Date.now(), username)
      .run();
    const { status } = await new Visitor().look(`/models?owner=${encodeURIComponent(name)}`);
    expect(status).toBe(404);
  });

  it("offers to make a model to whoever is signed in", async () => {
    const { visitor } = await signedUp();
    expect((await visitor.look("/models")).html).toContain('href="/models/new"');
    expect((await new Visitor().look("/models")).html).not.toContain('href="/models/new"');
    expect((await new Visitor().look("/models/new")).location).toBe(
      "/sign-in?next=%2Fmodels%2Fnew",
    );
  });
});

const INPUT = {
  type: "object",
  required: ["prompt"],
  properties: {
    steps: { type: "integer", minimum: 1, maximum: 50, default: 20, "x-order": 1 },
    prompt: { type: "string", maxLength: 300, description: "What `to` do", "x-order": 0 },
    size: { allOf: [{ $ref: "#/components/schemas/Size" }], default: "small", "x-order": 2 },
  },
  components: { schemas: { Size: { enum: ["small", "large"], description: "How big" } } },
};

describe("a version", () => {
  it("is published, shown, and told how to call", async () => {
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
    expect(calls).toContain(`curl -N '${ORIGIN}/v1/predictions'`);
    expect(calls).toContain(`"model": "${username}/story"`);
    expect(calls).toContain('"prompt": "some text"');
    expect(calls).toContain('"size": "small"');
    expect(calls).toContain(`${ORIGIN}/v1/vendora`);
  });

  it("is published with components that its schemas refer to", async () => {
    const { visitor, path } = await owner();
    const input = JSON.stringify({ $ref: "#/components/schemas/Input" });
    const components = JSON.stringify({ schemas: { Input: INPUT.components.schemas.Size } });
    const wrong = '{"schemas": {"Input": {"type": "text"}}}';
    const send = (fields: object) =>
      visitor.send(`${path}/versions/new`, { ...NEW_VERSION, input, ...fields });
    const refused = await send({ components: wrong });
    expect(refused.status).toBe(422);
    expect(issueOf(refused.html, "components")).toContain("schemas.Input.type: ");
    expect((await send({ components })).location).toBe(`${path}/versions/1`);
    const { html } = await visitor.look(`${path}/versions/new`);
    expect(html).toContain("#/components/schemas/Input");
    expect(html).toContain("How big");
  });

  it("tells everybody whose runs share its container", async () => {
    const { visitor, path } = await owner();
    const said = async (page: string) =>
      /Container sharing ([A-Z][\w’ ]+?) (?:[A-Z]|Delete)/.exec(
        textOf((await new Visitor().look(path + page)).html),
      )?.[1];
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    await visitor.send(`${path}/versions/new`, { ...NEW_VERSION, isolation: "prediction" });
    expect(await said("/versions/1")).toBe("Shared by all accounts");
    expect(await said("/versions/2")).toBe("Separate for each prediction");
    expect(await said("")).toBe("Separate for each prediction");
  });

  it("tells everybody whom its container reaches", async () => {
    const { visitor, path } = await owner();
    const said = async (page: string) =>
      textOf((await new Visitor().look(path + page)).html).replace(/\s+/g, " ");
    const send = (more: object) =>
      visitor.send(`${path}/versions/new`, { ...NEW_VERSION, ...more });
    await send({});
    await send({ egress: "none" });
    await send({ egress: "hosts", egress_hosts: "huggingface.co\r\n*.hf.co" });
    expect(await said("/versions/1")).toContain("Network access Public internet");
    expect(await said("/versions/2")).toContain("Network access No network");
    expect(await said("/versions/3")).toContain("Network access huggingface.co, *.hf.co");
    expect(await said("")).toContain("Network access huggingface.co, *.hf.co");
    const { html } = await visitor.look(`${path}/versions/new`);
    expect(html).toMatch(/value="hosts" checked=""/);
    expect(html).toContain("huggingface.co\n*.hf.co");
  });

  it.each([
    ["hf.co https://huggingface.co", "'https://huggingface.co': a lower-case host name"],
    ["", "Enter at least one host."],
    [Array.from({ length: 51 }, (_, n) => `n${n}.example.com`).join("\n"), "at most 50 items"],
  ])("is told at its hosts what is wrong with them", async (egress_hosts, words) => {
    const { visitor, path } = await owner();
    const fields = { ...NEW_VERSION, egress: "hosts", egress_hosts };
    const { status, html } = await visitor.send(`${path}/versions/new`, fields);
    expect(status).toBe(422);
    expect(issueOf(html, "egress_hosts")).toContain(words);
    expect(issueOf(html, "egress")).toBe("");
  });

  it("begins as the one before it was", async () => {
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

  it.each([
    ["container_image_digest", "latest", "sha256: and 64 hex digits"],
    ["input", '{"type": ', "unexpected end at line 1, column 10"],
    ["input", '{"type": "text"}', "type: "],
    ["input", '{"properties": {"a": {"minimum": "1"}}}', "properties.a.minimum: "],
    ["output", "[]", ""],
    ["timeout_seconds", "soon", "finite number"],
    ["max_concurrency", "0", "greater than or equal to 1"],
    ["variable_names", "HF_TOKEN lower case", "'lower': upper-case letters"],
    ["image", "elsewhere.example.com/story", "is not below"],
    ["hardware_identifier", "abacus", "'abacus' does not exist"],
  ])("is not published with a wrong %s: %s", async (field, value, words) => {
    const { visitor, path } = await owner();
    const { status, html } = await visitor.send(`${path}/versions/new`, {
      ...NEW_VERSION,
      release_notes: "still there",
      [field]: value,
    });
    expect(status).toBe(422);
    expect(issueOf(html, field)).toContain(words);
    expect(issueOf(html, field)).not.toBe("");
    expect(html).toContain('value="still there"');
    expect((await visitor.look(`${path}/versions/1`)).status).toBe(404);
  });

  it("is deleted, and its number not given again", async () => {
    const { visitor, path } = await owner();
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    const deleted = await visitor.send(`${path}/versions/1/delete`);
    expect(deleted.location).toBe(`${path}/versions`);
    expect((await visitor.look(`${path}/versions/1`)).status).toBe(404);
    const next = await visitor.send(`${path}/versions/new`, NEW_VERSION);
    expect(next.location).toBe(`${path}/versions/2`);
  });
});

describe("a model that is running", () => {
  it("is counted, and not deleted", async () => {
    const { visitor, username, path } = await owner();
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    const client = await newClient(username);
    await client.create({ model: `${username}/story`, input: {} });
    expect(textOf((await visitor.look(path)).html)).toContain("Predictions 1");
    expect(textOf((await visitor.look(`/models?owner=${username}`)).html)).toContain(
      "1 prediction ",
    );
    const model = await visitor.send(`${path}/delete`, { typed_name: "story" });
    expect(model.status).toBe(409);
    expect(textOf(model.html)).toContain("are still running. Make the model private");
    const version = await visitor.send(`${path}/versions/1/delete`);
    expect(version.status).toBe(409);
    expect(textOf(version.html)).toContain("are still running. Publish a new version");
    expect((await visitor.look(`${path}/versions/1`)).status).toBe(200);
  });
});
