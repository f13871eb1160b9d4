/** Pictures of other hosts in overviews, which the deployment fetches. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { fetchPicture } from "../../../src/outbound/picture.ts";
import type { Model } from "../../../src/protocol/model.ts";
import type { Upload } from "../../../src/protocol/upload.ts";
import { pictureUrls } from "../../../src/services/models/pictures.ts";
import { getServices } from "../../../src/services/services.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { uploaded } from "../support/files.ts";
import { owner } from "../support/model-pages.ts";
import { impatient, patient } from "../support/outbound.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { Visitor } from "../support/visitor.ts";
import { newUser } from "../support/world.ts";

const GIF = "GIF89a, and more bytes";
const picture: Behaviour = { status: 200, headers: { "content-type": "image/png" }, body: GIF };
const nobody = new Client(undefined);

/** Returns the sources of the pictures on a page, and its HTML. */
async function sourcesOn(visitor: Visitor, path: string) {
  const { status, html } = await visitor.look(path);
  const sources = [...html.matchAll(/<img src="([^"]*)"/g)].map(([, source = ""]) =>
    source.replaceAll("&amp;", "&"),
  );
  return { status, html, sources };
}

/** Makes a model with an overview. Returns its owner, and the path of its overview. */
async function modelWith(overview: string, fields = {}) {
  const { visitor, path } = await owner({ overview, ...fields });
  return { visitor, path: `${path}/overview` };
}

test("the overview of a model shows a picture of another host, which only the deployment sees", async () => {
  const path = freshPath();
  await script(path, picture);
  const address = `${addressOf(path)}?a=1&b=2`;
  const { path: page } = await modelWith(`# Story\n\n![A "cat"](${address})`);
  const { html, sources } = await sourcesOn(new Visitor(), page);
  expect(html).not.toContain(`src="${addressOf(path)}`);
  expect(html).toContain('alt="A &quot;cat&quot;" loading="lazy"');
  expect(sources).toHaveLength(1);

  const shown = await nobody.fetch(sources[0] ?? "", { headers: { cookie: "a=1", referer: "b" } });
  expect(shown.status).toBe(200);
  expect(await shown.text()).toBe(GIF);
  expect(Object.fromEntries(shown.headers)).toMatchObject({
    "content-type": "image/gif",
    "cache-control": "public, max-age=3600",
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
  });
  const [asked] = await received(path, 1);
  expect(asked?.query).toBe("?a=1&b=2");
  expect(asked?.headers).not.toHaveProperty("cookie");
  expect(asked?.headers).not.toHaveProperty("referer");
});

test("the cover of a model without a pictured example is the picture that its owner named", async () => {
  const address = addressOf(freshPath());
  const { path } = await modelWith("", { cover_image_url: address });
  const { html } = await sourcesOn(new Visitor(), path);
  expect(html).toMatch(/class="box model-picture" src="\/pictures\?url=/);
});

test("a picture that cannot be shown is a link to it", async () => {
  const hidden = [
    "http://10.0.0.1/a.png",
    "/v1/user",
    "ftp://example.com/a.png",
    `${ORIGIN}/x.png`,
  ];
  const { path } = await modelWith(hidden.map((url) => `![It](${url})`).join("\n\n"));
  expect((await sourcesOn(new Visitor(), path)).sources).toEqual([]);
});

test("only visitors who see a private model get the URLs of its pictures", async () => {
  const { visitor, path } = await modelWith(`![It](${addressOf(freshPath())})`, {
    visibility: "private",
  });
  expect((await sourcesOn(visitor, path)).sources).toHaveLength(1);
  const other = await sourcesOn((await owner()).visitor, path);
  expect(other).toMatchObject({ status: 404, sources: [] });
});

test("an overview shows and keeps pictures that its owner uploaded, and those of nobody else", async () => {
  const { client, username } = await newUser();
  const stranger = await newUser();
  const facts = { mime_type: "image/gif" };
  const [own, other] = [
    await uploaded(client, GIF, facts),
    await uploaded(stranger.client, GIF, facts),
  ];
  const named = [own, other].map(({ id }) => `![It](/v1/uploads/${id})`).join("\n");
  const { name } = await client.ok<Model>("POST", "/v1/models", { name: "fox", overview: named });
  const model = `/v1/models/${username}/${name}`;
  await client.ok("PATCH", model, { visibility: "public" });
  const { sources } = await sourcesOn(new Visitor(), `/models/${username}/${name}/overview`);
  expect(sources).toHaveLength(1);
  expect(await (await nobody.fetch(sources[0] ?? "")).text()).toBe(GIF);

  const expiryOf = async ({ id }: Upload) =>
    (await client.ok<Upload>("GET", `/v1/uploads/${id}`)).expires_at;
  expect(await expiryOf(own)).toBe("9999-12-31T00:00:00.000Z");
  await client.ok("POST", "/v1/models", { name: "owl", overview: named });
  await client.ok("PATCH", model, { overview: "" });
  expect(await expiryOf(own)).toBe("9999-12-31T00:00:00.000Z");
  await client.ok("DELETE", `/v1/models/${username}/owl`);
  const [soon, declared] = [await expiryOf(own), other.expires_at];
  expect(Date.parse(soon) - Date.parse(declared)).toBeLessThan(3 * 86_400_000);
});

test("a URL of a picture without its own signature fetches nothing", async () => {
  const path = freshPath();
  const urlOf = await pictureUrls(getServices(env), ORIGIN);
  const signed = new URL(urlOf(addressOf(path)) ?? "", ORIGIN);
  const changed = (name: string, value: string | undefined) => {
    const url = new URL(signed);
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    return url.href;
  };
  const other = new URL(urlOf(`${addressOf(path)}?other`) ?? "", ORIGIN).searchParams;
  for (const url of [
    changed("url", `${addressOf(path)}?other`),
    changed("signature", other.get("signature") ?? ""),
    changed("signature", undefined),
    changed("signature", "no signature"),
    changed("expires", "99999999999"),
    changed("url", undefined),
  ])
    expect([url, (await nobody.fetch(url)).status]).toEqual([url, 403]);
  expect(await received(path)).toEqual([]);
});

describe("a fetch of a picture", () => {
  const fetched = async (answer: Behaviour, settings = patient) => {
    const path = freshPath();
    await script(path, answer);
    return { path, found: await fetchPicture(addressOf(path), settings) };
  };
  const redirect = (location: string): Behaviour => ({ status: 302, headers: { location } });

  test("a fetch follows redirects", async () => {
    const path = freshPath();
    await script(path, picture);
    const { found } = await fetched(redirect(path));
    expect(found).toMatchObject({ type: "image/gif" });
  });

  test.each<[string, Behaviour, string]>([
    ["a redirect to a private address", redirect("http://169.254.169.254/"), "not on the public"],
    ["a redirect to a private name", redirect("https://metadata.internal/a"), "not on the public"],
    ["a redirect to another scheme", redirect("file:///etc/passwd"), "it is not https"],
    ["redirects without end", redirect("?"), "redirects more than 3 times"],
    ["HTML that is declared as a picture", { ...picture, body: "<!doctype html><script>" }, "PNG"],
    ["an SVG", { ...picture, body: "<svg xmlns='http://www.w3.org/2000/svg'/>" }, "PNG"],
    ["an empty body", { status: 200 }, "PNG"],
    [
      "50 MB",
      { status: 200, headers: { "content-length": "52428800", connection: "close" }, body: GIF },
      "larger than 5 MiB",
    ],
    ["a missing picture", { status: 404, body: GIF }, "status 404"],
    ["a reset", "reset", "could not be reached"],
  ])("a fetch refuses %s", async (_, behaviour, why) => {
    expect((await fetched(behaviour)).found).toContain(why);
  });

  test.each<[string, Behaviour]>([
    ["no answer", "silent"],
    ["a body that never comes", "stalled"],
  ])("a fetch refuses %s", async (_, behaviour) => {
    const { found } = await fetched(behaviour, impatient);
    expect(found).toContain("no response within 0.3 s");
  });

  test("a fetch breaks off when a body turns out to be larger than 5 MiB", async () => {
    const body = GIF + "x".repeat(6 * 1024 ** 2);
    const { path, found } = await fetched({ status: 200, body });
    if (typeof found === "string") throw new Error(found);
    await expect(new Response(found.body).arrayBuffer()).rejects.toThrow("larger than 5 MiB");
    await exchanged(path);
  });
});
