/** The page of access tokens, without client code. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newModel, referenceOf } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { signedUp, type Visitor } from "../support/visitor.ts";
import { newClient, newUser, operator } from "../support/world.ts";

const USUAL = {
  name: "laptop",
  scopes: ["predict", "read"],
  expires: "90",
  models_for: "all",
  models: "",
};

const DAY_MS = 86_400_000;

/** Returns the text of a token on the page. */
const shownIn = (html: string) => /<code>(aus_\w+)<\/code>/.exec(html)?.[1];

async function made(visitor: Visitor, fields: object = {}): Promise<Client> {
  const { status, html } = await visitor.send("/tokens", { ...USUAL, ...fields });
  expect(status).toBe(200);
  return new Client(shownIn(html));
}

interface Row {
  id: string;
  scopes: string;
  models: string | null;
  priority: string | null;
  expires_at: number | null;
  limits: string | null;
}

const rowsOf = async (username: string): Promise<Row[]> => {
  const statement = env.DB.prepare(
    "SELECT t.* FROM tokens t JOIN users u ON u.id = t.user_id WHERE username = ? ORDER BY t.id DESC",
  );
  return (await statement.bind(username).all<Row>()).results;
};

const statusOf = async (client: Client) => (await client.json("GET", "/v1/user")).status;

const { visitor, username } = await signedUp();

describe("making a token", () => {
  it("a new token is shown once, in an answer that is not cached, with a call to try it", async () => {
    const { html, headers, location } = await visitor.send("/tokens", USUAL);
    const token = shownIn(html) ?? expect.fail("no token");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(location).toBeUndefined();
    expect(html).toContain(`export AUSPEX_TOKEN=${token}\ncurl https://auspex.test/v1/user -H `);
    const client = new Client(token);
    expect(await client.ok("GET", "/v1/user")).toMatchObject({ username });
    const again = await visitor.look("/tokens");
    expect(again.html).not.toContain(token);
    expect(again.html).toContain(token.slice(0, 10));
  });

  it("a new token without read is shown with a call that it may make", async () => {
    const { html } = await visitor.send("/tokens", { ...USUAL, scopes: ["predict"] });
    const token = shownIn(html) ?? expect.fail("no token");
    const [, path = ""] = /curl https:\/\/auspex\.test(\S+)/.exec(html) ?? [];
    expect((await new Client(token).json("GET", path)).status).toBe(200);
    expect((await new Client(`${token}x`).json("GET", path)).status).toBe(401);
  });

  it("a new token can be limited to a priority, which the list shows", async () => {
    await made(visitor, { name: "nightly", priority: "low" });
    const [row] = await rowsOf(username);
    expect(row?.priority).toBe("low");
    expect((await visitor.look("/tokens")).html).toContain("<small>priority low</small>");
    await made(visitor, { priority: "" });
    expect((await rowsOf(username))[0]?.priority).toBeNull();
    const { status } = await visitor.send("/tokens", { ...USUAL, priority: "urgent" });
    expect(status).toBe(422);
  });

  it.each([
    ["7", 7],
    ["365", 365],
    ["never", null],
  ])("a new token expires as chosen: %s", async (expires, days) => {
    const before = Date.now();
    await made(visitor, { expires });
    const [row] = await rowsOf(username);
    if (days === null) return expect(row?.expires_at).toBeNull();
    const at = row?.expires_at ?? expect.fail("never");
    expect(at).toBeGreaterThanOrEqual(before + days * DAY_MS);
    expect(at).toBeLessThanOrEqual(Date.now() + days * DAY_MS);
  });

  it("a new token may expire at the end of a day", async () => {
    const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
    const client = await made(visitor, { expires: "date", expires_at: tomorrow });
    expect((await rowsOf(username))[0]?.expires_at).toBe(Date.parse(`${tomorrow}T23:59:59Z`));
    expect(await statusOf(client)).toBe(200);
  });

  it.each([
    [{ expires: "date", expires_at: "2020-01-01" }, "it is in the past"],
    [{ expires: "date", expires_at: "" }, "Choose a date"],
    [{ expires: "date", expires_at: "soon" }, "valid datetime"],
    [{ expires: "8" }, "Choose when the token expires"],
    [{ name: " " }, "at least 1 character"],
    [{ scopes: [] }, "at least 1 item"],
    [
      { scopes: ["everything"] },
      "&#39;read&#39;, &#39;write&#39;, &#39;predict&#39;, &#39;operator&#39; or &#39;metrics&#39;",
    ],
    [{ models_for: "" }, "Choose which models the token can use"],
    [{ models_for: "some", models: "story" }, "Invalid model &#39;story&#39;. Use owner/name"],
    [{ models_for: "some", models: "nobody/nothing" }, "&#39;nobody/nothing&#39; does not exist"],
    [{ models_for: "some", models: "" }, "Enter a model, or select one of yours."],
    [{ models_for: "some", models: " , \n" }, "Enter a model, or select one of yours."],
  ])("a new token is not made from %j", async (wrong, words) => {
    const before = await rowsOf(username);
    const { status, html } = await visitor.send("/tokens", { ...USUAL, name: "kept", ...wrong });
    expect(status).toBe(422);
    expect(html).toContain(words);
    if (!("name" in wrong)) expect(html).toContain('value="kept"');
    expect(await rowsOf(username)).toEqual(before);
  });
});

describe("a token for some models", () => {
  it("a token is for the models that are typed or ticked, and the form offers the user's own", async () => {
    const { client: stranger } = await newUser();
    const theirs = referenceOf(await newModel(stranger, { visibility: "public" }));
    const own = await newModel(await newClient(username));
    const { html } = await visitor.look("/tokens");
    expect(html).toContain(`name="models" value="${username}/${own.name}"`);
    await made(visitor, {
      models_for: "some",
      models: [` ${theirs}\n\n`, `${username}/${own.name}`],
    });
    const [row] = await rowsOf(username);
    expect(JSON.parse(row?.models ?? "null")).toHaveLength(2);
    const list = (await visitor.look("/tokens")).html;
    for (const name of [theirs, `${username}/${own.name}`])
      expect(list).toContain(`<a href="/models/${name}">`);
  });

  it("a refused form shows again what was typed and ticked", async () => {
    const own = referenceOf(await newModel(await newClient(username)));
    const { status, html } = await visitor.send("/tokens", {
      ...USUAL,
      models_for: "some",
      models: ["a/b\nc/d", own],
    });
    expect(status).toBe(422);
    expect(html).toContain('name="models_for" value="some" checked');
    expect(html).toContain("a/b\nc/d</textarea>");
    expect(html).toContain(`value="${own}" checked`);
  });
});

describe("the list of tokens", () => {
  it("the list marks tokens that have expired", async () => {
    await made(visitor);
    await env.DB.prepare("UPDATE tokens SET expires_at = 1 WHERE id = ?")
      .bind((await rowsOf(username))[0]?.id)
      .run();
    expect((await visitor.look("/tokens")).html).toContain("expired");
  });

  it("the list has pages in both directions", async () => {
    const { visitor, username } = await signedUp();
    const path = `/v1/operator/users/${username}/tokens`;
    for (let n = 0; n < 26; n++) await operator.ok("POST", path, { name: `token ${n}.` });
    const first = await visitor.look("/tokens");
    expect(first.html).not.toContain("token 0.");
    const [, older = ""] = /href="(\/tokens\?cursor=[^"]+)" rel="next"/.exec(first.html) ?? [];
    const second = await visitor.look(older);
    expect(second.html).toContain("token 0.");
    const [, newer = ""] = /href="(\/tokens\?cursor=[^"]+)" rel="prev"/.exec(second.html) ?? [];
    expect((await visitor.look(newer)).html).toContain("token 25.");
  });
});

describe("the limits of a token", () => {
  it("the form for a new token sets them, and the list shows them", async () => {
    await made(visitor, {
      name: "kiosk",
      max_running: "3",
      endpoints: ["predictions", "files"],
      networks: "203.0.113.0/24\n2001:db8::/32",
    });
    expect((await rowsOf(username))[0]).toMatchObject({
      limits: JSON.stringify({
        max_running: 3,
        endpoints: ["predictions", "files"],
        networks: ["203.0.113.0/24", "2001:db8::/32"],
      }),
    });
    const { html } = await visitor.look("/tokens");
    expect(html).toContain("<small>3 predictions at a time</small>");
    expect(html).toContain("<small>only predictions, files</small>");
  });

  it("a page shows and changes them", async () => {
    await made(visitor, { name: "kiosk", requests_per_minute: "60" });
    const [{ id } = expect.fail("no token")] = await rowsOf(username);
    expect((await visitor.look(`/tokens/${id}`)).html).toContain('value="60"');
    const { location } = await visitor.send(`/tokens/${id}`, { origins: "https://a.example.com" });
    expect(location).toBe("/tokens");
    expect((await rowsOf(username))[0]).toMatchObject({
      limits: '{"origins":["https://a.example.com"]}',
    });
    await visitor.send(`/tokens/${id}`, { origins: "" });
    expect((await rowsOf(username))[0]).toMatchObject({ limits: null });
  });

  it.each([
    [{ origins: "https://a.example.com/page" }, "without a path"],
    [{ networks: "203.0.113.7" }, "203.0.113.7/32 is one address"],
    [{ max_running: "0" }, "greater than or equal to 1"],
    [{ max_running: "many" }, "field-error"],
  ])("limits are not changed to %j, and the form says why", async (wrong, words) => {
    await made(visitor, { name: "kiosk", max_running: "7" });
    const [{ id } = expect.fail("no token")] = await rowsOf(username);
    const { status, html } = await visitor.send(`/tokens/${id}`, wrong);
    expect(status).toBe(422);
    expect(html).toContain(words);
    expect((await rowsOf(username))[0]).toMatchObject({ limits: '{"max_running":7}' });
    const created = await visitor.send("/tokens", { ...USUAL, ...wrong });
    expect(created.html).toContain('<details class="spaced" open');
  });
});
