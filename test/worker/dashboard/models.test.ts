/** Pages of models, for visitors and owners, without client code. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { issueOf, NEW_MODEL, NEW_VERSION, owner } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { unique } from "../support/world.ts";

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

/** The pages below a model's address. */
const PAGES = ["", "/overview", "/versions", "/versions/1", "/versions/new", "/api", "/settings"];

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
  const { html } = await stranger.look(`/models?q=${username}`);
  expect(html).not.toContain(path);
  const { html: own } = await visitor.look(`/models/${username}`);
  expect(own).toContain(`href="${path}"`);
  expect(own).toContain('<span class="badge">private</span>');
  expect((await visitor.look(`/models?q=${username}`)).html).toContain(`href="${path}"`);
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
});

it("the gallery shows what a model makes, and filters by it", async () => {
  const { visitor, username, path } = await owner();
  await visitor.send(`${path}/versions/new`, {
    ...NEW_VERSION,
    output: '{"type": "string", "format": "uri", "title": "Depth map"}',
  });
  const look = async (query: string) => (await new Visitor().look(`/models${query}`)).html;
  expect(textOf(await look(`?q=${username}`))).toMatch(/story Images published/);
  expect(textOf(await look(`?q=${username}`))).toContain("1 model found");
  expect(await look("?category=makes%3Apictures")).toContain(`href="${path}"`);
  expect(await look("?category=makes%3Apictures")).toContain(
    '<option value="makes:pictures" selected="">Images</option>',
  );
  expect(await look("?category=makes%3Atext")).not.toContain(`href="${path}"`);
  expect(textOf(await look("?q=nothing-is-called-so"))).toContain("No models found");
});
