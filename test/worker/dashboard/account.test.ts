/** The own account in the dashboard: profile and picture, usage, export and deletion. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { User } from "../../../src/protocol/user.ts";
import { sized } from "../../support/sized.ts";
import { run } from "../support/accounts.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { linesIn, ofType } from "../support/export.ts";
import { keysBelow } from "../support/files.ts";
import { textOf } from "../support/page-text.ts";
import { count, daysAgo } from "../support/usage.ts";
import { PASSWORD, signedUp, type Visitor } from "../support/visitor.ts";
import { newClient, newWorld, unique } from "../support/world.ts";

afterEach(() => void vi.useRealTimers());

const nobody = new Client(undefined);

const profileOf = (username: string) =>
  nobody.ok<Record<string, unknown>>("GET", `/v1/users/${username}`);

/** Returns the values of a page's fields, by name. */
const fieldsIn = (html: string) =>
  Object.fromEntries(
    [
      ...html.matchAll(/<input(?=[^>]* name="(\w+)")(?=[^>]* value="([^"]*)")[^>]*>/g),
      ...html.matchAll(/<textarea[^>]* name="(\w+)"[^>]*>\n?([^<]*)</g),
    ].map(([, name = "", value = ""]) => [name, value]),
  );

const SIGNATURES = {
  "image/png": "\x89PNG\r\n\x1a\n",
  "image/jpeg": "\xff\xd8\xff\xe0",
  "image/gif": "GIF89a",
  "image/webp": "RIFF\x04\0\0\0WEBP",
};

const picture = (type: keyof typeof SIGNATURES, size = 100, filler = 1) => {
  const bytes = new Uint8Array(size).fill(filler);
  bytes.set(Uint8Array.from(SIGNATURES[type], (character) => character.charCodeAt(0)));
  return new File([bytes], "me", { type: "text/html" });
};

describe("the profile", () => {
  const FILLED = {
    name: "Ann Example",
    bio: "First line\nsecond <b>line</b>",
    urls: "https://ann.example/\nhttps://work.example/a?b=c",
    location: "Zürich",
    company: "Engines & Sons",
  };

  it("a profile shows its values, and changes all of them", async () => {
    const { visitor, username } = await signedUp();
    const before = await visitor.look("/account");
    expect(before.status).toBe(200);
    expect(fieldsIn(before.html)).toMatchObject({ username, name: "Ann", bio: "", urls: "" });
    const sent = await visitor.send("/account", { username, ...FILLED });
    expect([sent.status, sent.location]).toEqual([303, "/account"]);
    expect(await profileOf(username)).toMatchObject({
      ...FILLED,
      urls: FILLED.urls.split("\n"),
    });
    const { html } = await visitor.look("/account");
    expect(html).toContain("Profile saved.");
    expect(fieldsIn(html)).toMatchObject({ company: "Engines &amp; Sons", urls: FILLED.urls });
    await visitor.send("/account", { username, ...FILLED, bio: "", urls: "" });
    expect(await profileOf(username)).toMatchObject({ bio: "", urls: [] });
  });

  it("a profile shows an error beside its field, and keeps what was typed", async () => {
    const { visitor, username } = await signedUp();
    const fields = { username: "No good", ...FILLED, urls: "ftp://x", bio: "é".repeat(1_001) };
    const { status, html } = await visitor.send("/account", fields);
    expect(status).toBe(422);
    for (const name of ["username", "urls", "bio"])
      expect(html).toMatch(new RegExp(`id="${name}-error"`));
    expect(fieldsIn(html)).toMatchObject({ username: "No good", urls: "ftp://x" });
    expect(await profileOf(username)).toMatchObject({ name: "Ann" });
  });

  it("a profile counts a line break of a form as one character", async () => {
    const { visitor, username } = await signedUp();
    const bio = "a\r\n".repeat(500);
    await visitor.send("/account", { ...FILLED, username, bio });
    expect(await profileOf(username)).toMatchObject({ bio: "a\n".repeat(500) });
  });
});

describe("the picture", () => {
  const urlOf = async (username: string) => String((await profileOf(username)).avatar_url);
  const use = (visitor: Visitor, avatar: File) => visitor.send("/account/avatar", { avatar });

  const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

  it.each(TYPES.slice(0, sized(1, TYPES.length)))(
    "a picture of %s is recognized by its bytes, and everybody may cache it for a year",
    async (type) => {
      const { visitor, username } = await signedUp();
      expect((await use(visitor, picture(type))).location).toBe("/account");
      const address = await urlOf(username);
      expect(address).toMatch(new RegExp(`^${ORIGIN}/avatars/[0-9a-f-]{36}/[0-9a-f]{64}$`));
      // The two headers are those of a page's picture, and of a browser that opens the address itself.
      for (const accept of ["image/*", "text/html"]) {
        const shown = await nobody.fetch(address, { headers: { accept } });
        expect(await shown.bytes()).toEqual(await picture(type).bytes());
        expect(Object.fromEntries(shown.headers)).toMatchObject({
          "content-type": type,
          "content-disposition": "inline",
          "cache-control": "public, max-age=31536000, immutable",
          "x-content-type-options": "nosniff",
          "content-security-policy": "default-src 'none'; sandbox",
        });
        expect(shown.headers.getSetCookie()).toEqual([]);
      }
      expect((await visitor.look("/account")).html).toContain(new URL(address).pathname);
    },
  );

  it("a new picture replaces the one before, and a removed picture is deleted", async () => {
    const { visitor, username } = await signedUp();
    const { id } = await nobody.ok<{ id: string }>("GET", `/v1/users/${username}`);
    await use(visitor, picture("image/png"));
    const first = await urlOf(username);
    await use(visitor, picture("image/gif"));
    const second = await urlOf(username);
    expect(second).not.toBe(first);
    expect((await nobody.fetch(first)).status).toBe(404);
    expect(await keysBelow(id)).toHaveLength(1);
    // A picture that is uploaded again keeps its address.
    await use(visitor, picture("image/gif"));
    expect((await nobody.fetch(second)).status).toBe(200);
    expect((await visitor.send("/account/avatar/remove")).location).toBe("/account");
    expect(await urlOf(username)).toBe("");
    expect((await nobody.fetch(second)).status).toBe(404);
    expect(await keysBelow(id)).toEqual([]);
    expect((await visitor.send("/account/avatar/remove")).location).toBe("/account");
  });

  it("concurrent pictures leave one, with its file", async () => {
    const { visitor, username } = await signedUp();
    const { id } = await nobody.ok<{ id: string }>("GET", `/v1/users/${username}`);
    const answers = await Promise.all(
      [1, 2, 3].map((filler) => use(visitor, picture("image/png", 100, filler))),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(303);
    for (const status of statuses) expect([303, 409]).toContain(status);
    expect(await keysBelow(id)).toHaveLength(1);
    expect((await nobody.fetch(await urlOf(username))).status).toBe(200);
  });

  const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';

  it.each([
    [
      "an SVG",
      new File([SVG], "a.png", { type: "image/png" }),
      "must be a PNG, JPEG, WebP, GIF or AVIF",
    ],
    [
      "a page",
      new File(["<html>GIF89a"], "a.gif", { type: "image/gif" }),
      "must be a PNG, JPEG, WebP, GIF or AVIF",
    ],
    ["more than 1 MB", picture("image/png", 1024 ** 2 + 1), "larger than 1 MB"],
    ["nothing", new File([], ""), "Choose a picture"],
  ])("a picture cannot be %s", async (_, file, words) => {
    const { visitor, username } = await signedUp();
    const { status, html } = await use(visitor, file);
    expect(status).toBe(422);
    expect(html).toContain(words);
    expect(html).toContain('id="avatar-error"');
    expect(await urlOf(username)).toBe("");
  });

  it("a picture may have 1 MB", async () => {
    const { visitor, username } = await signedUp();
    await use(visitor, picture("image/png", 1024 ** 2));
    expect((await nobody.fetch(await urlOf(username))).status).toBe(200);
  });

  it.each([
    `/avatars/${crypto.randomUUID()}/${"0".repeat(64)}`,
    `/avatars/${crypto.randomUUID()}/x`,
    `/avatars/${"x".repeat(2_000)}/${"0".repeat(64)}`,
    "/avatars/..%2F/x",
    "/avatars/",
  ])("a request of %s is a 404", async (path) => {
    expect((await nobody.fetch(path)).status).toBe(404);
  });
});

describe("usage", () => {
  const NO_PRICES = "No prices are set. An operator can set them under Fleet → Hardware.";
  it("a usage page has a table by access token, with prices, and a CSV file", async () => {
    const { visitor, username } = await signedUp();
    const { id } = await nobody.ok<{ id: string }>("GET", `/v1/users/${username}`);
    const token = '=CI, "nightly"';
    const other = { token_id: "t2", token: "Laptop", cost: 300_000_000, input_tokens: 1_200 };
    await count(id, daysAgo(1), "ada/story", 1, 0, other);
    await count(id, daysAgo(0), "ada/story", 4, 1, { token_id: "t1", token, cost: 2_500_000_000 });
    await count(id, daysAgo(0), "ada/story", 2);
    await count(id, daysAgo(40), "ada/story", 9);
    const { html } = await visitor.look("/account/usage");
    expect(textOf(html)).not.toContain(NO_PRICES);
    expect(textOf(html)).toMatch(
      /Cost by day \$4\.00 \$2\.00 \$0\.00 .* Predictions by day 6 3 0 /,
    );
    expect(html).toContain(`<title>${daysAgo(1)}: $0.30 ada/story</title>`);
    expect(textOf(html)).toContain("$2.80 from");
    const rows = [...html.matchAll(/<bdi>(.*?)<\/bdi>.*?<\/th>(.*?)<\/tr>/g)].map(
      ([, name, cells = ""]) => [
        name,
        ...[...cells.matchAll(/>([^<]+)</g)].map(([, cell]) => cell),
      ],
    );
    expect(rows).toEqual([
      ["=CI, &quot;nightly&quot;", "4", "1", "1 min 30 s", "0", "$2.50"],
      ["Laptop", "1", "0", "1 min 30 s", "1,200", "$0.30"],
      ["Dashboard", "2", "0", "1 min 30 s", "0", "–"],
    ]);
    const versions = (await visitor.look("/account/usage?by=version")).html;
    expect(versions).toContain('<a href="/models/ada/story/versions/1">ada/<wbr/>story:1</a>');
    expect((await visitor.look("/account/usage?by=member")).html).toContain("By access token");
    const csv = await visitor.fetch("/account/usage.csv?days=30", {});
    expect(csv.headers.get("content-disposition")).toBe(
      'attachment; filename="auspex-usage-30-days.csv"',
    );
    expect(await csv.text()).toBe(
      [
        "day,model,version,member,token,token_id,hardware,deployment,release,predictions,failed,execution_seconds,setup_seconds,input_tokens,output_tokens,cached_tokens,images,cost,currency",
        `${daysAgo(1)},ada/story,1,,Laptop,t2,cpu,,,1,0,90,0,1200,0,0,0,0.3,USD`,
        `${daysAgo(0)},ada/story,1,,Dashboard,,cpu,,,2,0,90,0,0,0,0,0,0,USD`,
        `${daysAgo(0)},ada/story,1,,"'=CI, ""nightly""",t1,cpu,,,4,1,90,0,0,0,0,0,2.5,USD`,
        "",
      ].join("\r\n"),
    );
    expect(await (await visitor.fetch("/account/usage.csv?days=90", {})).text()).toContain(
      daysAgo(40),
    );
  });
});

describe("deleting the account", () => {
  it.each([
    ["the username", (username: string) => ({ username: `${username}x` }), 'id="username-error"'],
    [
      "the password",
      (username: string) => ({ username, password: "not the password" }),
      "Wrong password",
    ],
  ])("a deletion needs %s", async (_, typed, words) => {
    const { visitor, username } = await signedUp();
    const { status, html } = await visitor.send("/account/delete", typed(username));
    expect([status, html]).toEqual([422, expect.stringContaining(words)]);
    await profileOf(username);
  });

  it("a deletion without a password needs a login of the last 15 minutes", async () => {
    const { visitor, username, email } = await signedUp();
    const loginId = "(SELECT id FROM logins WHERE email = ?)";
    await run(`DELETE FROM credentials WHERE user_id = ${loginId}`, email);
    const age = (minutes: number) =>
      run(
        `UPDATE sessions SET created_at = ? WHERE user_id = ${loginId}`,
        Date.now() - minutes * 60_000,
        email,
      );
    expect((await visitor.look("/account/delete")).html).not.toContain("Password</label>");
    await age(15);
    const old = await visitor.send("/account/delete", { username });
    expect([old.status, old.html]).toEqual([403, expect.stringContaining("last 15 minutes")]);
    await profileOf(username);
    await age(14);
    expect((await visitor.send("/account/delete", { username })).location).toBe("/");
  });

  it("a deletion ends session, tokens and profile at once, and the user cannot log in again", async () => {
    const { visitor, username, email } = await signedUp();
    const client = await newClient(username);
    await visitor.look("/account/delete");
    const cookies = new Map(visitor.cookies);
    const fields = { username, password: PASSWORD };
    const { location, headers } = await visitor.send("/account/delete", fields);
    expect(location).toBe("/");
    expect(headers.getSetCookie().join()).toMatch(/session_token=;[^,]*Max-Age=0/);
    expect((await visitor.look("/")).html).toContain("Account deleted.");
    for (const [name, value] of cookies) visitor.cookies.set(name, value);
    expect((await visitor.look("/account")).location).toMatch(/^\/sign-in/);
    expect((await client.json<User>("GET", "/v1/user")).status).toBe(401);
    expect((await nobody.json("GET", `/v1/users/${username}`)).status).toBe(404);
    visitor.cookies.clear();
    visitor.formToken = "";
    const again = await visitor.send("/sign-in", { email, password: "a long enough password" });
    expect(again.status).not.toBe(303);
    const taken = { username, name: "Ann", email, password: "a long enough password" };
    expect((await visitor.send("/sign-up", taken)).status).toBe(422);
    expect((await visitor.send("/sign-up", { ...taken, username: unique("ann") })).status).toBe(
      303,
    );
  });
});

it("an export is the API's download, which can be resumed here and ends with the session", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  const { visitor, username, email, user_id, client } = await newDashboardUser();
  const download = (query = "") => visitor.fetch(`/account/export${query}`, { method: "GET" });
  const world = await newWorld({ visibility: "public" });
  const { id } = (await client.create({ model: world.model, input: {} })).body;
  expect((await visitor.look("/account/data")).html).toContain('href="/account/export"');
  const whole = await download();
  const nameOf = ({ headers }: Response) => headers.get("content-disposition");
  expect(nameOf(whole)).toBe('attachment; filename="auspex-export.jsonl"');
  const lines = linesIn(await whole.text());
  expect(lines[0]).toMatchObject({ type: "export", user: { username }, email });
  expect(ofType(lines, "prediction")).toMatchObject([{ prediction: { id } }]);
  const next = await download(`?before=${id}`);
  expect(nameOf(next)).toBe(`attachment; filename="auspex-export-before-${id}.jsonl"`);
  const rest = linesIn(await next.text());
  expect(rest).toEqual([{ type: "end", predictions: 0, failures: 0, next_url: null }]);
  expect((await download("?before=x")).status).toBe(422);
  const cut = await download();
  const other = await download();
  const third = await visitor.look("/account/export");
  expect(third).toMatchObject({ status: 429 });
  expect(third.html).toContain("<h1>Too many requests</h1>");
  await other.body?.cancel();
  await env.DB.prepare("DELETE FROM sessions WHERE user_id = ?").bind(user_id).run();
  await vi.advanceTimersByTimeAsync(5_000);
  const problem = { type: "problem", problem: { detail: "You are logged out." } };
  expect(linesIn(await cut.text()).at(-1)).toMatchObject(problem);
});
