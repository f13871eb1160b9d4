import { createServer, type Server } from "node:https";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { AddressPolicy } from "../../../runner/src/files/public-address.ts";
import { PublicFetch, TransientError } from "../../../runner/src/files/public-fetch.ts";
import { Failure } from "../../../src/run/failure.ts";
import { ALLOWED, errorOf, serve } from "../support/public-fetch-server.ts";

const never = new AbortController().signal;
const strict = new PublicFetch(new AddressPolicy([]));
const fetcher = new PublicFetch(new AddressPolicy(ALLOWED), undefined, "auspex-runner/1.0.0");

const get = (url: string, from = fetcher) => from.get(new URL(url), undefined, never);

/** Addresses that an attacker tries in order to reach a private network. */
const PRIVATE = [
  "127.0.0.1",
  "127.0.0.1.",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "017700000001",
  "%31%32%37.0.0.1",
  "①②⑦.0.0.1",
  "127。0。0。1",
  "0",
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "100.100.100.200",
  "168.63.129.16",
  "169.254.169.254",
  "0xA9FEA9FE",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.192",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:0:127.0.0.1]",
  "[::ffff:a9fe:a9fe]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::a9fe:a9fe]",
  "[64:ff9b:1::a00:1]",
  "[2002:7f00:1::]",
  "[2002:a9fe:a9fe::1]",
  "[2001:0:7f00:1::]",
  "[2001:db8::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[fe80::1]",
  "[fec0::1]",
  "[ff02::1]",
  "localhost",
  "localhost.",
  "LOCALHOST",
];

test.each(PRIVATE)("the address %s is not public", async (host) => {
  const error = await errorOf(get(`https://${host}/`, strict));
  expect(error).toBeInstanceOf(Failure);
  expect(error).toMatchObject({
    source: "external",
    message: expect.stringMatching(/ has no public IP address$/),
  });
});

test.each([
  "1.1.1.1",
  "9.255.255.255",
  "100.63.255.255",
  "100.128.0.1",
  "172.15.0.1",
  "172.32.0.1",
  "192.169.0.1",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001::1",
])("the address %s is public, over https only", (address) => {
  const reach = new AddressPolicy([]);
  expect(reach.permits(address, "https:")).toBe(true);
  expect(reach.permits(address, "http:")).toBe(false);
});

test("addresses that an operator allows are reached in every spelling, and no others", () => {
  const reach = new AddressPolicy(["10.1.0.0/16", "fd12::/16"]);
  const reached = ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1", "10.2.0.1", "fd13::1", "fe80::1%eth0"];
  expect(reached.map((address) => reach.permits(address, "http:"))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test.each([
  ["http", "http://example.com/?key=secret", "example.com cannot be fetched over http"],
  ["files", "file:///etc/passwd", "file: URLs are not supported"],
  ["ftp", "ftp://example.com/", "ftp: URLs are not supported"],
  ["credentials", "https://me:secret@example.com/", "example.com contains credentials"],
  ["a name alone", "https://me@example.com/", "example.com contains credentials"],
])("an address is refused before any lookup: %s", async (_name, url, message) => {
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return [{ address: "93.184.215.14", family: 4 }];
  };
  const error = await errorOf(get(url, new PublicFetch(new AddressPolicy([]), resolve)));
  expect(error).toMatchObject({ source: "external", message: expect.stringContaining(message) });
  expect(String(error)).not.toContain("secret");
  // Plain http may be allowed for the address of the name, so it is looked up.
  expect(asked).toEqual(url.startsWith("http:") ? ["example.com"] : []);
});

test("at most five redirects are followed, by our own code", async () => {
  const web = await serve((request, response) => {
    const left = Number.parseInt(request.url?.slice(1) ?? "", 10);
    if (left === 0) response.end("here");
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const { body, validators } = await get(`${web.url}/5?a=b`);
  expect(await text(body)).toBe("here");
  // The final URL is compared as a hash, which only shows whether it is the same.
  const direct = await get(`${web.url}/0`);
  expect(validators.from).toBe(direct.validators.from);
  expect(validators.from).toMatch(/^[0-9a-f]{64}$/);
  direct.body.destroy();
  expect(await errorOf(get(`${web.url}/6`))).toMatchObject({
    message: `${web.host} redirects more than 5 times`,
  });
});

test.each([
  ["to a private address", (inside: string) => inside, /has no public|over http/],
  ["to a private name", () => "https://intranet.test/", /has no public IP address/],
  ["to metadata", () => "http://169.254.169.254/latest/meta-data/", /over http/],
  ["to a file", () => "file:///etc/passwd", /file: URLs/],
  ["with credentials", () => "https://a:b@example.com/", /credentials/],
  ["to nothing that can be read", () => "https://[", /redirects to an invalid URL/],
])("a redirect %s is refused", async (_name, target, message) => {
  const inside = await serve((_request, response) => response.end("inside"), "127.0.0.2");
  const web = await serve((_request, response) => {
    response.writeHead(307, { location: target(inside.url) }).end();
  });
  const resolve = async () => [{ address: "127.0.0.2", family: 4 }];
  const error = await errorOf(get(web.url, new PublicFetch(new AddressPolicy(ALLOWED), resolve)));
  expect(error).toMatchObject({ source: "external", message: expect.stringMatching(message) });
  expect(web.requests).toHaveLength(1);
  expect(inside.connections).toBe(0);
});

test("a name that resolves to another address the second time is looked up once", async () => {
  const web = await serve((_request, response) => response.end("public"));
  const inside = await serve((_request, response) => response.end("inside"), "127.0.0.2");
  const answers = ["127.0.0.1", "127.0.0.2", "127.0.0.2"];
  const asked: string[] = [];
  const rebinding = new PublicFetch(new AddressPolicy(ALLOWED), async (name) => {
    asked.push(name);
    return [{ address: answers.shift() ?? "", family: 4 }];
  });
  const { body } = await get(`http://rebind.test:${web.port}/`, rebinding);
  expect(await text(body)).toBe("public");
  // Each connection does one lookup: there is no second one that could differ.
  expect(asked).toEqual(["rebind.test"]);
  for (const port of [web.port, inside.port]) {
    const error = await errorOf(get(`http://rebind.test:${port}/`, rebinding));
    expect(error).toMatchObject({ message: expect.stringContaining("over http") });
  }
  expect(inside.connections).toBe(0);
});

test("only the permitted addresses of a name are tried", async () => {
  const web = await serve((_request, response) => response.end("public"));
  const mixed = new PublicFetch(new AddressPolicy(ALLOWED), async () => [
    { address: "127.0.0.2", family: 4 },
    { address: "::1", family: 6 },
    { address: "127.0.0.1", family: 4 },
  ]);
  const { body } = await get(`http://mixed.test:${web.port}/`, mixed);
  expect(await text(body)).toBe("public");
});

test("a name that does not exist has the same error as a private one", async () => {
  const missing = new PublicFetch(new AddressPolicy([]), async () => {
    throw Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
  });
  const inside = new PublicFetch(new AddressPolicy([]), async () => [
    { address: "10.0.0.1", family: 4 },
  ]);
  const errors = await Promise.all(
    [missing, inside].map((one) => errorOf(get("https://db.corp.test/", one))),
  );
  expect(errors[0]).toEqual(errors[1]);
});

test("a request has no cookies, no credentials and no compression", async () => {
  const seen: unknown[] = [];
  const web = await serve((request, response) => {
    seen.push(request.headers);
    const headers = { "set-cookie": "a=b", location: "/there" };
    response.writeHead(request.url === "/" ? 302 : 200, headers).end();
  });
  await get(web.url);
  const headers = {
    accept: "*/*",
    "accept-encoding": "identity",
    "user-agent": "auspex-runner/1.0.0",
    host: web.host,
    connection: "close",
  };
  expect(seen).toEqual([headers, headers]);
});

test.each([
  [404, Failure],
  [403, Failure],
  [204, Failure],
  [206, Failure],
  [304, Failure],
  [429, TransientError],
  [503, TransientError],
])("the status %i is handled", async (status, kind) => {
  const web = await serve((_request, response) => {
    response.writeHead(status, { "retry-after": "2" }).end();
  });
  const error = await errorOf(get(`${web.url}/file.png?signature=secret`));
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject({ message: `${web.host} responded with status ${status}` });
  if (error instanceof TransientError) expect(error.retryAfterMs).toBe(2_000);
});

test("a compressed answer is refused", async () => {
  const web = await serve((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip" }).end("x");
  });
  expect(await errorOf(get(web.url))).toMatchObject({
    source: "external",
    message: expect.stringContaining("compressed (gzip)"),
  });
});

test("a network failure has the host and the code, and no address", async () => {
  const web = await serve((request) => request.socket.destroy());
  const error = await errorOf(get(`${web.url}/?signature=secret`));
  expect(error).toBeInstanceOf(TransientError);
  expect(error).toMatchObject({ message: `${web.host} could not be read: ECONNRESET` });
});

test("a stopped fetch ends with the reason of the signal", async () => {
  const stop = new AbortController();
  const web = await serve(() => stop.abort(new Error("enough")));
  const error = await errorOf(fetcher.get(new URL(web.url), undefined, stop.signal));
  expect(error).toMatchObject({ message: "enough" });
});

/** A self-signed key for files.test, valid until 2126; used nowhere else. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgK6nCw7vw12TmTH7Y
EK0DPtxwdPlrhYJRuL9kC9/9IhGhRANCAAR91RExvpfuN8E2l+bbT3s/cKwJttdZ
7+g6yV1g7RXZ5etesdbFygMcV7yv+F//lkf3FNTXuk6h38wWyEZDn5xo
-----END PRIVATE KEY-----`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBmTCCAT6gAwIBAgIUdfBJ53IysY7I60XuyBvohXgdUjgwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZmlsZXMudGVzdDAgFw0yNjExMjEwNTM1MDdaGA8yMTI2MTAy
ODA1MzUwN1owFTETMBEGA1UEAwwKZmlsZXMudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABH3VETG+l+43wTaX5ttPez9wrAm211nv6DrJXWDtFdnl616x1sXK
AxxXvK/4X/+WR/cU1Ne6TqHfzBbIRkOfnGijajBoMB0GA1UdDgQWBBSCnzljlSjN
8p6PmzY16wrVksCzFTAfBgNVHSMEGDAWgBSCnzljlSjN8p6PmzY16wrVksCzFTAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCmZpbGVzLnRlc3QwCgYIKoZIzj0E
AwIDSQAwRgIhAJEjWQ8DtOhJBT9F0dhOLR+6lKUJ7nds+zEY9TMU4uA0AiEAiLch
MPLgk/PjwY0MxUyXUXqbVnPNNwn+6T5pzUF665Y=
-----END CERTIFICATE-----`;

const before = getCACertificates("default");
afterEach(() => setDefaultCACertificates(before));

const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
const local = new PublicFetch(new AddressPolicy(ALLOWED), resolve);

const secure = () => {
  const server: Server = createServer({ key, cert });
  return serve((_request, response) => response.end("secret"), "127.0.0.1", server);
};

test("a file over https is read when the certificate is valid and for that name", async () => {
  setDefaultCACertificates([cert]);
  const { port } = await secure();
  const { body } = await local.get(new URL(`https://files.test:${port}/`), undefined, never);
  expect(await text(body)).toBe("secret");
});

test.each([
  ["a certificate that nobody vouches for", "files.test", false, /DEPTH_ZERO_SELF_SIGNED_CERT/],
  ["a certificate of another name", "other.test", true, /ERR_TLS_CERT_ALTNAME_INVALID/],
])("a file over https is not read with %s", async (_name, host, trusted, message) => {
  if (trusted) setDefaultCACertificates([cert]);
  const { port, requests } = await secure();
  const error = await errorOf(local.get(new URL(`https://${host}:${port}/`), undefined, never));
  expect(error).toMatchObject({ message: expect.stringMatching(message) });
  expect(requests).toEqual([]);
});
