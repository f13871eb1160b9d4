// The proxy that is the only way out of containers, used like a program does that reads HTTPS_PROXY.
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type TunnelOptions, Tunnels } from "../../../runner/src/containers/tunnels.ts";
import { CallbackServer } from "../../../runner/src/lib/callback-server.ts";

const LOOPBACK = "127.0.0.1";

let callbackServer: CallbackServer;
let proxy: number;
let echo: Server;
let port: number;
let looked: string[];
const sockets: Socket[] = [];

/** Options that resolve every name to this machine, which is allowed. */
const HERE: TunnelOptions = {
  resolve: async (name) => {
    looked.push(name);
    return [{ address: LOOPBACK, family: 4 }];
  },
  permits: () => true,
};

beforeEach(async () => {
  looked = [];
  echo = createServer((socket) => socket.pipe(socket)).listen(0, LOOPBACK);
  await once(echo, "listening");
  const address = echo.address();
  port = typeof address === "object" && address ? address.port : 0;
  callbackServer = new CallbackServer();
  proxy = await callbackServer.listen(LOOPBACK);
  callbackServer.setBaseUrl(new URL(`http://${LOOPBACK}:${proxy}`));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await callbackServer.close();
  echo.close();
});

/** Asks for a tunnel; resolves with the beginning of the answer. */
async function ask(url: string, authority: string): Promise<{ socket: Socket; answer: string }> {
  const { username, password } = new URL(url);
  const socket = connect({ port: proxy, host: LOOPBACK });
  sockets.push(socket);
  socket.on("error", () => {});
  const credentials = Buffer.from(`${username}:${password}`).toString("base64");
  const head = [`CONNECT ${authority} HTTP/1.1`, `Proxy-Authorization: Basic ${credentials}`];
  socket.write([...head, `Host: ${authority}`, "", ""].join("\r\n"));
  const first = once(socket, "data").then(([bytes]) => String(bytes));
  return { socket, answer: await Promise.race([first, once(socket, "close").then(() => "")]) };
}

test("a tunnel leads to a listed host, and ends with its container", async () => {
  const tunnel = new Tunnels(callbackServer, HERE).open([`hf.example:${port}`]);
  const { socket, answer } = await ask(tunnel.url, `HF.example.:${port}`);
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(looked).toEqual(["hf.example"]);
  socket.write("hello");
  expect(String((await once(socket, "data"))[0])).toBe("hello");
  const closed = once(socket, "close");
  tunnel.close();
  await closed;
  expect((await ask(tunnel.url, `hf.example:${port}`)).answer).toBe("");
});

test("a tunnel passes on the end of a request and its answer", async () => {
  const late = createServer({ allowHalfOpen: true }, async (socket) => {
    socket.end(`heard ${await text(socket)}`);
  }).listen(0, LOOPBACK);
  await once(late, "listening");
  const address = late.address();
  const to = `hf.example:${typeof address === "object" ? address?.port : 0}`;
  const { socket } = await ask(new Tunnels(callbackServer, HERE).open([to]).url, to);
  socket.end("all");
  expect(await text(socket)).toBe("heard all");
  late.close();
});

test.each([
  ["another host", "evil.example", "evil.example:"],
  ["another port", "hf.example", "hf.example:"],
  ["an address", "127.0.0.1", "127.0.0.1:"],
  ["nonsense", "hf.example@evil.example", " :"],
])("a tunnel to %s is refused without a name lookup", async (_, host, words) => {
  const tunnel = new Tunnels(callbackServer, HERE).open(["hf.example:1"]);
  const { answer } = await ask(tunnel.url, `${host}:${port}`);
  // The status line has the reason, because Python's clients print it: "Tunnel connection failed: 403
  // evil.example:1 is not …"
  const [status] = answer.split("\r\n");
  expect(status).toMatch(
    /^HTTP\/1\.1 403 [a-z0-9.]*:\d* is not in the egress list of this version$/,
  );
  expect(status).toContain(words);
  expect(looked).toEqual([]);
});

test("a tunnel to a listed name that leads into a private network is refused", async () => {
  const { resolve } = HERE;
  const tunnel = new Tunnels(callbackServer, { resolve }).open([`hf.example:${port}`]);
  expect((await ask(tunnel.url, `hf.example:${port}`)).answer).toMatch(/^HTTP\/1\.1 502 /);
  expect(looked).toEqual(["hf.example"]);
});

test("a tunnel is refused where the operator allows no egress", async () => {
  const tunnel = new Tunnels(callbackServer, { ...HERE, allowed: false }).open([
    `hf.example:${port}`,
  ]);
  const { answer } = await ask(tunnel.url, `hf.example:${port}`);
  expect(answer).toMatch(/^HTTP\/1\.1 403 [\s\S]*egress is disabled/);
});

test("a tunnel with a guessed address is refused", async () => {
  new Tunnels(callbackServer, HERE).open([`hf.example:${port}`]);
  expect((await ask("http://guess:x@callbackServer", `hf.example:${port}`)).answer).toBe("");
});

test("a tunnel has at most 128 connections at a time", async () => {
  const tunnel = new Tunnels(callbackServer, HERE).open([`hf.example:${port}`]);
  const asked = await Promise.all(
    Array.from({ length: 128 }, () => ask(tunnel.url, `hf.example:${port}`)),
  );
  expect(asked.every(({ answer }) => answer.includes(" 200 "))).toBe(true);
  expect((await ask(tunnel.url, `hf.example:${port}`)).answer).toMatch(/^HTTP\/1\.1 503 /);
  asked[0]?.socket.destroy();
  await vi.waitFor(async () =>
    expect((await ask(tunnel.url, `hf.example:${port}`)).answer).toMatch(/ 200 /),
  );
});
