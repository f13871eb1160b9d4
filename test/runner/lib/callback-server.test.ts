import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { CallbackServer } from "../../../runner/src/lib/callback-server.ts";

let callbackServer: CallbackServer;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await callbackServer.close();
});

/** Resolves to whether the connection is still open after the callback server's answer. */
async function answers(port: number, localAddress: string): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  sockets.push(socket);
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: callbackServer\r\n\r\n");
  const answered = once(socket, "data").then(() => true);
  return Promise.race([answered, once(socket, "close").then(() => false)]);
}

async function hold(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  sockets.push(socket);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

test("one address has a limited number of connections, and no other address is affected", async () => {
  callbackServer = new CallbackServer({ connections: 6, perAddress: 3 });
  const port = await callbackServer.listen("127.0.0.1");
  const held: Socket[] = [];
  for (let n = 0; n < 3; n++) held.push(await hold(port, "127.0.0.2"));
  expect(await answers(port, "127.0.0.2")).toBe(false);
  expect(await answers(port, "127.0.0.3")).toBe(true);
  // A connection that closes makes room.
  held[0]?.destroy();
  await vi.waitFor(async () => expect(await answers(port, "127.0.0.2")).toBe(true));
});

test("all addresses together have a limited number of connections", async () => {
  callbackServer = new CallbackServer({ connections: 3, perAddress: 2 });
  const port = await callbackServer.listen("127.0.0.1");
  for (const address of ["127.0.0.1", "127.0.0.1", "127.0.0.2"]) await hold(port, address);
  expect(await answers(port, "127.0.0.3")).toBe(false);
});

test("an idle connection stays open for longer than a container uses it without checking", async () => {
  callbackServer = new CallbackServer({ connections: 3, perAddress: 2 });
  const port = await callbackServer.listen("127.0.0.1");
  callbackServer.setBaseUrl(new URL(`http://127.0.0.1:${port}`));
  const { url } = callbackServer.open(async (_, response) => void response.end());
  const socket = await hold(port, "127.0.0.1");
  socket.write(`GET ${new URL(url).pathname} HTTP/1.1\r\nHost: callbackServer\r\n\r\n`);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^keep-alive: timeout=600\r$/im);
});
