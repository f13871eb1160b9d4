/** Pages of models, for visitors and owners, without client code. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { issueOf, NEW_MODEL, NEW_VERSION, owner } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { sweep } from "../support/queues.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { newClient, operator, unique } from "../support/world.ts";

describe("a model", () => {
  it("a model is made, found, and shown to everybody", async () => {
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

    const { html: first } = await new Visitor().look(path);
    expect(textOf(first)).toContain("No version yet");
    const { html, status } = await new Visitor().look(`${path}/overview`);
    expect(status).toBe(200);
    expect(html).toContain("Goes on with a story");
    expect(html).toContain("<h2>How</h2>");
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt; with <strong>care</strong>");
    expect(html).toContain("Tall tales");
    expect(html).toContain('href="https://example.com/source" rel="nofollow ugc noopener"');
    expect(html).not.toContain("cover.png");
    expect(html).not.toContain("/settings");
    expect(textOf(html)).toContain("Predictions 0");

    const { html: list } = await new Visitor().look(`/models?category=${category}`);
    expect(list).toContain(`href="${path}"`);
    const { html: none } = await new Visitor().look(`/models?category=${unique("none")}`);
    expect(textOf(none)).toContain("No models match these filters");
    const find = async () => (await new Visitor().look(`/models?q=${username}`)).html;
    const found = await find();
    expect(found).toContain(`href="${path}"`);
    expect(textOf(found)).toContain("no version yet");

    await visitor.look(path);
    for (const _ of "12") await visitor.send(`${path}/versions/new`, NEW_VERSION);
    const { latest_version: latest } = await new Client(undefined).ok<Model>("GET", `/v1${path}`);
    expect(latest?.number).toBe(2);
    expect(await find()).toContain(`published <time datetime="${latest?.created_at}"`);
  });

  it("a form with errors makes no model, and shows each error at its field with what was typed", async () => {
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

  it("a model needs a name that its owner has not used", async () => {
    const { visitor, path } = await owner();
    const { status, html } = await visitor.send("/models/new", NEW_MODEL);
    expect(status).toBe(409);
    expect(textOf(html)).toContain("You already have a model 'story'.");
    expect((await visitor.look(path)).status).toBe(200);
  });

  it("a model is changed and renamed", async () => {
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

  it("a model is deleted by an owner who types its name", async () => {
    const { visitor, username, path } = await owner();
    const refused = await visitor.send(`${path}/delete`, { typed_name: "stori" });
    expect(refused.status).toBe(422);
    expect(issueOf(refused.html, "typed_name")).toContain("Type story to confirm.");
    const deleted = await visitor.send(`${path}/delete`, { typed_name: "story" });
    expect(deleted.location).toBe(`/models/${username}`);
    const { html } = await visitor.look(`/models/${username}`);
    expect(textOf(html)).toContain("story deleted.");
    expect(textOf(html)).toContain("You have no models yet");
    expect((await visitor.look(path)).status).toBe(404);
  });
});

/** The pages below a model's address. */
const PAGES = ["", "/overview", "/versions", "/versions/1", "/versions/new", "/api", "/settings"];
const ACTIONS = ["/settings", "/delete", "/versions/new", "/versions/1/delete"];

describe("a model of somebody else", () => {
  it("a private model is hidden like one that does not exist", async () => {
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
    const { html: own } = await visitor.look(`/models/${username}`);
    expect(own).toContain(`href="${path}"`);
    expect(own).toContain('<span class="badge">private</span>');
    expect((await visitor.look(`/models?q=${username}`)).html).toContain(`href="${path}"`);
  });

  it("a public model is shown, and cannot be changed", async () => {
    const { visitor, path } = await owner();
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    const { visitor: stranger } = await signedUp();
    for (const page of ["", "/overview", "/versions", "/versions/1", "/api"]) {
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

describe("the list of models", () => {
  it("the list has pages forward and back, newest first", async () => {
    const { visitor, username } = await signedUp();
    for (let n = 1; n <= 21; n++)
      await visitor.send("/models/new", { ...NEW_MODEL, name: `model-${n}` });
    const names = (html: string) =>
      [...html.matchAll(/href="\/models\/[^/"]+\/(model-\d+)"/g)].map(([, name]) => name);
    const linkOf = (html: string, rel: string) =>
      new RegExp(`href="([^"]*)" rel="${rel}"`).exec(html)?.[1]?.replaceAll("&amp;", "&");
    for (const reader of [visitor, new Visitor()]) {
      const first = await reader.look(`/models/${username}`);
      expect(names(first.html)).toHaveLength(20);
      expect(names(first.html)[0]).toBe("model-21");
      expect(linkOf(first.html, "prev")).toBeUndefined();
      const second = await reader.look(linkOf(first.html, "next") ?? "");
      expect(names(second.html)).toEqual(["model-1"]);
      const back = await reader.look(linkOf(second.html, "prev") ?? "");
      expect(names(back.html)).toEqual(names(first.html));
    }
  });

  it("the list ignores invalid parameters", async () => {
    for (const query of ["sort=loudest", `q=${"x".repeat(60)}`, "q=%22%27%28%2A", "category=%00"])
      expect((await new Visitor().look(`/models?${query}`)).status).toBe(200);
    expect((await new Visitor().look(`/models/${unique("nobody")}`)).status).toBe(404);
    expect((await new Visitor().look("/models?cursor=bad")).status).toBe(400);
  });

  it("the list shows an owner's profile to others", async () => {
    const { visitor, username } = await owner();
    await visitor.send("/account", {
      username,
      name: "Ada <b>Lovelace</b>",
      bio: "Notes on engines",
      urls: "https://example.com/ada",
    });
    const { html } = await new Visitor().look(`/models/${username}`);
    expect(html).toContain('<h1 dir="auto">Ada &lt;b&gt;Lovelace&lt;/b&gt;</h1>');
    expect(html).toContain('href="https://example.com/ada" rel="nofollow noopener"');
    expect(textOf(html)).toContain("Notes on engines");
    expect(html).toContain(`href="/models/${username}/story"`);
    expect(textOf((await visitor.look(`/models/${username}`)).html)).toContain("Your models");
  });

  it("the list is a 404 for the name of an account that was closed", async () => {
    const { username } = await signedUp();
    const name = `gone/${username}`;
    await env.DB.prepare("UPDATE users SET username = ?, deleted_at = ? WHERE username = ?")
      .bind(name, Date.now(), username)
      .run();
    const { status } = await new Visitor().look(`/models/${encodeURIComponent(name)}`);
    expect(status).toBe(404);
  });

  it("the list offers to make a model to users who are signed in", async () => {
    const { visitor } = await signedUp();
    expect((await visitor.look("/models")).html).toContain('href="/models/new"');
    expect((await new Visitor().look("/models")).html).not.toContain('href="/models/new"');
    expect((await new Visitor().look("/models/new")).location).toBe(
      "/sign-in?next=%2Fmodels%2Fnew",
    );
  });
});

describe("a model that is running", () => {
  it("a running model is counted and can be deleted: accepted predictions run to their end", async () => {
    const { visitor, username, path } = await owner();
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    const client = await newClient(username);
    const { id } = (await client.create({ model: `${username}/story`, input: {} })).body;
    // The account's counts reach D1 through a queue.
    await eventually(
      async () => expect(textOf((await visitor.look(path)).html)).toContain("Runs so far 1"),
      6_000,
    );
    await sweep();
    expect(textOf((await visitor.look(`/models/${username}`)).html)).toContain("1 prediction ");
    expect((await visitor.send(`${path}/versions/1/delete`)).status).toBe(303);
    expect((await visitor.look(`${path}/versions/1`)).status).toBe(404);
    expect((await visitor.send(`${path}/delete`, { typed_name: "story" })).status).toBe(303);
    expect((await visitor.look(path)).status).toBe(404);
    expect(await client.get(id)).toMatchObject({ status: "pending" });
  });
});
