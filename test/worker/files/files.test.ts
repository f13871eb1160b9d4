/** Reading files: ranges, conditions, types and access. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FileAddress } from "../../../src/protocol/file.ts";
import type { Upload } from "../../../src/protocol/upload.ts";
import { Client, type Refusal } from "../support/client.ts";
import {
  bytesOf,
  digestOf,
  fileUrl,
  keysBelow,
  nobody,
  PART,
  storeFile,
  uploaded,
} from "../support/files.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const { client, username } = await newUser();
const TEXT = "0123456789";
const file = await uploaded(client, TEXT, { name: "digits.txt" });
const address = fileUrl(file);
/** The address without its signature. */
const path = new URL(address).pathname;

const read = (headers: Record<string, string> = {}, method = "GET") =>
  nobody.fetch(address, { method, headers });

const { etag = "", "last-modified": modified = "" } = Object.fromEntries((await read()).headers);

describe("the whole file", () => {
  test("a whole file has its length, type, name, ETag and date", async () => {
    const response = await read();
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(TEXT);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-length": "10",
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": `inline; filename="digits.txt"; filename*=UTF-8''digits.txt`,
      "accept-ranges": "bytes",
      etag: expect.stringMatching(/^"[^"]+"$/),
      "last-modified": expect.stringMatching(/GMT$/),
      "cache-control": "private, max-age=300",
    });
  });

  test("a HEAD request has a file's headers without its bytes", async () => {
    const response = await read({}, "HEAD");
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-length": "10",
      "content-type": "text/plain; charset=utf-8",
      etag,
    });
  });

  test("a file of several parts is read whole, and in a range across their border", async () => {
    const bytes = bytesOf(PART + 100);
    const large = await uploaded(client, bytes);
    const whole = await nobody.fetch(fileUrl(large));
    expect(whole.headers.get("content-length")).toBe(String(bytes.length));
    expect(await digestOf(whole)).toBe(await digestOf(bytes));
    const [from, to] = [PART - 7, PART + 9];
    const part = await nobody.fetch(fileUrl(large), { headers: { range: `bytes=${from}-${to}` } });
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(from, to + 1));
  });
});

describe("a range", () => {
  test.each([
    ["bytes=2-4", "234", "2-4"],
    ["bytes=-3", "789", "7-9"],
  ])("the range %s is %j", async (range, text, content) => {
    const response = await read({ range });
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(`bytes ${content}/10`);
    expect(response.headers.get("content-length")).toBe(String(text.length));
    expect(await response.text()).toBe(text);
  });

  test.each(["bytes=10-", "bytes=-0"])("the range %s is a 416 with the size", async (range) => {
    const response = await read({ range });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe("bytes */10");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { detail } = await response.json<Refusal>();
    expect(detail).toBe("The file has 10 bytes.");
  });

  test.each(["bytes=0-1,4-5", "nonsense"])(
    "the range %s is answered with the whole file",
    async (range) => {
      const response = await read({ range });
      expect([response.status, await response.text()]).toEqual([200, TEXT]);
    },
  );

  test("a HEAD request ignores ranges", async () => {
    const response = await read({ range: "bytes=2-4" }, "HEAD");
    expect([response.status, response.headers.get("content-length")]).toEqual([200, "10"]);
    expect(response.headers.get("content-range")).toBeNull();
    expect((await read({ range: "bytes=99-" }, "HEAD")).status).toBe(200);
  });

  test("a range with If-Range is answered only for the same ETag", async () => {
    const range = "bytes=2-4";
    expect(await (await read({ range, "if-range": etag })).text()).toBe("234");
    for (const other of ['"other"', `W/${etag}`, "Sat, 01 Jan 2000 00:00:00 GMT"]) {
      const response = await read({ range, "if-range": other });
      expect([response.status, await response.text()]).toEqual([200, TEXT]);
    }
  });
});

describe("a condition", () => {
  const before = new Date(Date.parse(modified) - 1_000).toUTCString();
  test.each<[Record<string, string>, number]>([
    [{ "if-none-match": etag }, 304],
    [{ "if-none-match": `W/${etag}` }, 304],
    [{ "if-none-match": `"x", ${etag}` }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": '"x"' }, 200],
    [{ "if-modified-since": modified }, 304],
    [{ "if-modified-since": before }, 200],
    [{ "if-modified-since": "nonsense" }, 200],
    [{ "if-none-match": '"x"', "if-modified-since": modified }, 200],
    [{ "if-none-match": etag, "if-modified-since": before }, 304],
    [{ "if-none-match": etag, range: "bytes=0-1" }, 304],
    [{ "if-none-match": '"x"', range: "bytes=0-1" }, 206],
  ])("a request with %j is answered with %i", async (headers, status) => {
    const response = await read(headers);
    expect(response.status).toBe(status);
    expect(response.headers.get("etag")).toBe(etag);
    if (status === 304) expect(await response.text()).toBe("");
    else await response.body?.cancel();
    expect((await read(headers, "HEAD")).status).toBe(status === 206 ? 200 : status);
  });
});

describe("a type", () => {
  const html = "<script>alert(1)</script>";
  const nothing = "application/octet-stream";

  test.each([
    ["image/png", "inline", "image/png"],
    ["application/pdf", "attachment", "application/pdf"],
    ["text/html", "attachment", nothing],
  ])(
    "a file of the type %s is sent as %s with a type that no browser runs",
    async (mime_type, shown, sent) => {
      const done = await uploaded(client, html, { mime_type });
      expect(done.mime_type).toBe(mime_type);
      for (const response of [
        await nobody.fetch(fileUrl(done)),
        await nobody.fetch(fileUrl(done), { method: "HEAD" }),
        await nobody.fetch(fileUrl(done), { headers: { range: "bytes=0-9" } }),
      ]) {
        await response.arrayBuffer();
        expect(Object.fromEntries(response.headers)).toMatchObject({
          "content-type": sent,
          "content-disposition": expect.stringMatching(`^${shown};`),
          "x-content-type-options": "nosniff",
          "content-security-policy": "sandbox; default-src 'none'",
          "referrer-policy": "no-referrer",
        });
        expect(response.headers.get("set-cookie")).toBeNull();
      }
    },
  );
});

describe("a name", () => {
  test.each([
    "Größe \u{1f600}.png",
    `a"; filename="b.exe`,
    "%2e%2e%2fvalues",
    `${"ü".repeat(250)}.png`,
  ])("a name like %j is kept, and its address is plain ASCII", async (name) => {
    const done = await uploaded(client, TEXT, { name });
    expect(done.name).toBe(name);
    expect(new URL(fileUrl(done)).pathname).toMatch(
      new RegExp(`^/v1/files/${done.id}/[A-Za-z0-9][A-Za-z0-9._-]*$`),
    );
    const response = await nobody.fetch(fileUrl(done));
    expect([response.status, await response.text()]).toEqual([200, TEXT]);
    const header = response.headers.get("content-disposition") ?? "";
    const [, exact = ""] = /filename\*=UTF-8''(\S+)$/.exec(header) ?? [];
    expect(decodeURIComponent(exact)).toBe(name);
  });

  test("a name that is absent follows the type", async () => {
    const png = await uploaded(client, TEXT, { mime_type: "image/png" });
    expect(new URL(fileUrl(png)).pathname).toMatch(/\/file\.png$/);
  });
});

describe("the charset of a text", () => {
  const typeOf = async (one: Upload) =>
    (await nobody.fetch(fileUrl(one))).headers.get("content-type");
  const UTF8 = "text/plain; charset=utf-8";

  test.each([
    ["text/plain", "na\u00efve", UTF8],
    ["text/plain; charset=iso-8859-1", "plain", "text/plain; charset=iso-8859-1"],
    ["text/plain", Uint8Array.of(0x63, 0x61, 0x66, 0xe9), "text/plain"],
    ["application/json", "{}", "application/json"],
  ])(
    "a file of the type %s is served with charset=utf-8 if its bytes are UTF-8",
    async (mime_type, content, served) => {
      const one = await uploaded(client, content, { mime_type });
      expect(one.mime_type).toBe(mime_type);
      expect(await typeOf(one)).toBe(served);
    },
  );

  test("a character across two parts of a file counts as valid UTF-8", async () => {
    const euro = new TextEncoder().encode("\u20ac");
    const text = new Uint8Array(PART + 100).fill(0x61);
    text.set(euro, PART - 1);
    expect(await typeOf(await uploaded(client, text))).toBe(UTF8);
    text[PART] = 0x61;
    expect(await typeOf(await uploaded(client, text))).toBe("text/plain");
  });
});

describe("a file's signature", () => {
  const change = (name: string, value: string | undefined, url = address) => {
    const changed = new URL(url);
    if (value === undefined) changed.searchParams.delete(name);
    else changed.searchParams.set(name, value);
    return changed.href;
  };
  const query = Object.fromEntries(new URL(address).searchParams);
  const { expires = "", signature = "" } = query;

  test("an altered signature, or that of another file, is refused also to the owner", async () => {
    const other = await uploaded(client, "other", { name: "digits.txt" });
    const altered = [
      change("expires", String(Number(expires) + 1)),
      change("signature", `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`),
      address.replace(file.id, other.id),
      address.replace("digits.txt", "digits.txu"),
      change("signature", new URL(fileUrl(other)).searchParams.get("signature") ?? ""),
    ];
    for (const url of altered) {
      for (const one of [nobody, client]) {
        const response = await one.fetch(url);
        expect(response.status).toBe(403);
        expect((await response.json<Refusal>()).detail).toContain("signature");
      }
    }
    expect((await nobody.fetch(change("signature", "short"))).status).toBe(422);
    expect((await nobody.fetch(change("expires", "soon"))).status).toBe(422);
  });

  test("an address without signature or expires needs a token", async () => {
    expect((await nobody.fetch(change("signature", undefined))).status).toBe(401);
    expect((await nobody.fetch(change("expires", undefined))).status).toBe(401);
  });

  test("a file without a signature is readable by its owner only", async () => {
    expect(await (await client.fetch(path)).text()).toBe(TEXT);
    expect((await nobody.fetch(path)).status).toBe(401);
    const stranger = (await newUser()).client;
    const hidden = await stranger.fetch(path);
    const none = await stranger.fetch(path.replace(file.id, crypto.randomUUID()));
    const text = async (response: Response) => (await response.json<Refusal>()).detail;
    expect([hidden.status, none.status]).toEqual([404, 404]);
    expect(await text(hidden)).toBe(await text(none));
    expect((await new Client("aus_wrong").fetch(path)).status).toBe(401);
    // Clients may send their token, or that of another service, with any address.
    expect((await new Client("aus_wrong").fetch(address)).status).toBe(200);
  });

  test.each<Record<string, string>>([
    {},
    { range: "items=0-1" },
    { range: "bytes=0-" },
    { "if-none-match": '"other"' },
    { "if-modified-since": new Date(0).toUTCString() },
    { "if-range": '"other"', range: "bytes=0-1" },
  ])("an empty file is read with the headers %j", async (headers) => {
    const { runner, job } = await (await newWorld()).begun();
    const empty = await storeFile(runner, job, "", "empty.txt");
    const response = await nobody.fetch(empty, { headers });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("content-length")).toBe("0");
  });

  test("values and other objects in R2 are not served as files", async () => {
    const { begun } = await newWorld();
    const { id } = await begun();
    await env.FILES.put(`${id}/values/input`, "{}");
    for (const name of ["values/input", "values%2Finput", "..%2Fx", "values%252Finput"]) {
      expect([404, 422]).toContain((await client.fetch(`/v1/files/${id}/${name}`)).status);
    }
  });

  test("an address expires after a day, and its owner can get a new one", async () => {
    const lasting = await uploaded(client, TEXT);
    advance(86_399);
    const url = fileUrl(lasting);
    expect((await nobody.fetch(url)).status).toBe(200);
    advance(2);
    const expired = await nobody.fetch(url);
    expect(expired.status).toBe(403);
    expect((await expired.json<Refusal>()).detail).toContain("expired");
    const again = await client.ok<typeof lasting>("GET", `/v1/uploads/${lasting.id}`);
    expect(await (await nobody.fetch(fileUrl(again))).text()).toBe(TEXT);
  });
});

describe("a new address", () => {
  test("a new address is valid for its expires_in", async () => {
    const made = await client.ok<FileAddress>("POST", `${path}/addresses`, { expires_in: 10 });
    expect(Date.parse(made.expires_at)).toBe(Date.now() + 10_000);
    advance(9);
    expect(await (await nobody.fetch(made.url)).text()).toBe(TEXT);
    advance(2);
    expect((await nobody.fetch(made.url)).status).toBe(403);
  });

  test("a new address is made only by the owner, for an existing file", async () => {
    const stranger = (await newUser()).client;
    expect((await stranger.post(`${path}/addresses`, {})).status).toBe(404);
    expect((await nobody.post(`${path}/addresses`, {})).status).toBe(401);
    const gone = `/v1/files/${file.id}/other.txt/addresses`;
    expect((await client.post(gone, {})).status).toBe(404);
    for (const expires_in of [0, -1, 604_801, 1.5, "x"]) {
      expect((await client.post(`${path}/addresses`, { expires_in })).status).toBe(422);
    }
    const reader = await newClient(username, { scopes: ["read"] });
    expect((await reader.post(`${path}/addresses`, { expires_in: 604_800 })).status).toBe(200);
  });
});

describe("an output file", () => {
  test("an output file is read by its address and by its owner, until the data is deleted", async () => {
    const { client: owner, begun, stranger } = await newWorld();
    const { id, job, runner, channel } = await begun();
    const url = await storeFile(runner, job, TEXT, "out put.png");
    await channel.succeed(url);
    expect((await owner.get(id)).output).toEqual([url]);
    const response = await nobody.fetch(url);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "content-disposition": `inline; filename="out put.png"; filename*=UTF-8''out%20put.png`,
    });
    expect(await digestOf(response)).toBe(await digestOf(new TextEncoder().encode(TEXT)));
    const plain = new URL(url).pathname;
    expect((await owner.fetch(plain)).status).toBe(200);
    expect((await (await stranger()).fetch(plain)).status).toBe(404);
    expect((await nobody.fetch(plain)).status).toBe(401);
    await owner.ok("DELETE", `/v1/predictions/${id}`);
    for (const one of [url, plain]) expect((await owner.fetch(one)).status).toBe(404);
    expect((await owner.post(`${plain}/addresses`, {})).status).toBe(404);
    expect(await keysBelow(id)).toEqual([]);
  });

  test("an output file's address is valid as long as the file is kept, also after 29 days", async () => {
    const { begun } = await newWorld();
    const { job, runner, channel } = await begun();
    const url = await storeFile(runner, job, TEXT);
    await channel.succeed(url);
    advance(29 * 86_400);
    expect((await nobody.fetch(url)).status).toBe(200);
  });

  test("output files of the same name are stored separately", async () => {
    const { begun } = await newWorld();
    const { id, job, runner } = await begun();
    const urls = await Promise.all(["a", "b", "c"].map((text) => storeFile(runner, job, text)));
    expect(await keysBelow(id)).toHaveLength(3);
    const texts = await Promise.all(urls.map(async (url) => digestOf(await nobody.fetch(url))));
    expect(new Set(texts).size).toBe(3);
  });
});
