/** What a container calls at the old process, though the new one has it. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallbackServer, type Handler } from "../../../runner/src/containers/callback-server.ts";
import { Tunnels } from "../../../runner/src/containers/tunnels.ts";

type Limits = ConstructorParameters<typeof CallbackServer>[0];

const LOOPBACK = "127.0.0.1";

let old: CallbackServer;
let next: CallbackServer;
/** Of the old one. */
let port: number;
let successor: { port: number; isThere: boolean };
const sockets: Socket[] = [];

async function open(limits?: Limits): Promise<[CallbackServer, number]> {
  const server = new CallbackServer(limits);
  const port = await server.listen(LOOPBACK);
  server.setBaseUrl(new URL(`http://${LOOPBACK}:${port}`));
  return [server, port];
}

beforeEach(async () => {
  [old, port] = await open();
  let nextPort: number;
  [next, nextPort] = await open();
  successor = { port: nextPort, isThere: true };
  old.forwardTo(successor);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await old.close();
  await next.close();
});

const echo: Handler = async (request, response, rest) => {
  const heard = await text(request);
  response.writeHead(201, { location: `${request.method} ${rest}` }).end(`heard ${heard.length}`);
};

const put = (url: string, body: string) => fetch(`${url}/cat.png`, { method: "PUT", body });

test("an upload reaches the process that has its container, whole", async () => {
  const opened = old.open(async () => {});
  opened.close();
  expect(next.open(echo, opened.url).url).toBe(opened.url);
  const answer = await put(opened.url, "x".repeat(3_000_000));
  expect(answer.status).toBe(201);
  expect(answer.headers.get("location")).toBe("PUT /cat.png");
  expect(await answer.text()).toBe("heard 3000000");
});

test("what is the old process's own stays with it, and what is nobody's is refused", async () => {
  const own = old.open(async (_, response) => void response.end("old"));
  expect(await (await put(own.url, "x")).text()).toBe("old");
  own.close();
  expect((await put(own.url, "x")).status).toBe(404);
});

test("once the new process has gone, nobody is asked: another program may have its port", async () => {
  const opened = next.open(echo);
  const url = opened.url.replace(/:\d+/, `:${port}`);
  expect((await put(url, "x")).status).toBe(201);
  successor.isThere = false;
  expect((await put(url, "x")).status).toBe(404);
});

test("who passes much on there takes no room from the others", async () => {
  await next.close();
  let nextPort: number;
  [next, nextPort] = await open({ connections: 20, perAddress: 3 });
  successor = { port: nextPort, isThere: true };
  old.forwardTo(successor);
  const heard: string[] = [];
  const { url } = next.open(async (request) => void heard.push(request.method ?? ""));
  for (let n = 0; n < 4; n++) {
    const socket = connect({ port, host: LOOPBACK, localAddress: "127.0.0.2" });
    sockets.push(socket.on("error", () => {}));
    const { pathname } = new URL(url);
    socket.write(`PUT ${pathname}/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx`);
  }
  await vi.waitFor(() => expect(heard).toHaveLength(4));
});

test("is answered in between by nobody, and then by the new one at the same port", async () => {
  const opened = old.open(async () => {});
  opened.close();
  next.open(echo, opened.url);
  void old.drain();
  await expect(put(opened.url, "x")).rejects.toThrow();
  await next.listenAt(port);
  expect(next.ports).toHaveLength(2);
  expect((await put(opened.url, "x")).status).toBe(201);
});

test("an upload that is under way ends before the old process does", async () => {
  const opened = old.open(async () => {});
  opened.close();
  const begun = Promise.withResolvers<void>();
  next.open((...call) => {
    begun.resolve();
    return echo(...call);
  }, opened.url);
  const { socket, send } = uploading(opened.url);
  send("half ");
  await begun.promise;
  const drained = old.drain();
  await next.listenAt(port);
  send("of it");
  expect(String((await once(socket, "data"))[0])).toMatch(/201 Created/);
  socket.end();
  await drained;
});

/** One whose body of ten bytes is sent by and by. */
function uploading(url: string) {
  const { pathname } = new URL(url);
  const socket = connect({ port, host: LOOPBACK });
  sockets.push(socket);
  const lines = [`PUT ${pathname}/a HTTP/1.1`, "Host: runner", "Content-Length: 10", "", ""];
  socket.write(lines.join("\r\n"));
  return { socket, send: (piece: string) => void socket.write(piece) };
}

test("the new process being away breaks the call, and nothing else", async () => {
  await next.close();
  await expect(put(`http://${LOOPBACK}:${port}/${crypto.randomUUID()}`, "x")).rejects.toThrow();
  expect((await put(old.open(echo).url, "x")).status).toBe(201);
});

test("a limited container goes on to the hosts of its version", async () => {
  const host: Server = createServer((socket) => socket.pipe(socket)).listen(0, LOOPBACK);
  await once(host, "listening");
  const address = host.address();
  const to = `hf.example:${typeof address === "object" ? address?.port : 0}`;
  const here = {
    resolve: async () => [{ address: LOOPBACK, family: 4 } as const],
    permits: () => true,
  };
  const tunnel = new Tunnels(old, here).open([to]);
  const before = await ask(tunnel.url, to);
  tunnel.leave();
  new Tunnels(next, here).open([to], tunnel.url);
  const after = await ask(tunnel.url, to);
  for (const socket of [before, after]) {
    socket.write("hello");
    expect(String((await once(socket, "data"))[0])).toBe("hello");
  }
  host.close();
});

/** A tunnel through the old process. */
async function ask(url: string, authority: string): Promise<Socket> {
  const { username, password } = new URL(url);
  const socket = connect({ port, host: LOOPBACK });
  sockets.push(socket);
  const credentials = Buffer.from(`${username}:${password}`).toString("base64");
  const head = [`CONNECT ${authority} HTTP/1.1`, `Proxy-Authorization: Basic ${credentials}`];
  socket.write([...head, `Host: ${authority}`, "", ""].join("\r\n"));
  expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
  return socket;
}
