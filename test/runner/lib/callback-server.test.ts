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

/** Whether it still stands when the callbackServer has answered on it. */
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

test("one address has so many connections, and no other suffers from it", async () => {
  callbackServer = new CallbackServer({ connections: 6, perAddress: 3 });
  const port = await callbackServer.listen("127.0.0.1");
  const held: Socket[] = [];
  for (let n = 0; n < 3; n++) held.push(await hold(port, "127.0.0.2"));
  expect(await answers(port, "127.0.0.2")).toBe(false);
  expect(await answers(port, "127.0.0.3")).toBe(true);
  // One that goes makes room.
  held[0]?.destroy();
  await vi.waitFor(async () => expect(await answers(port, "127.0.0.2")).toBe(true));
});

test("all together have so many", async () => {
  callbackServer = new CallbackServer({ connections: 3, perAddress: 2 });
  const port = await callbackServer.listen("127.0.0.1");
  for (const address of ["127.0.0.1", "127.0.0.1", "127.0.0.2"]) await hold(port, address);
  expect(await answers(port, "127.0.0.3")).toBe(false);
});

test("an idle connection stays for longer than a container draws without looking at it", async () => {
  callbackServer = new CallbackServer({ connections: 3, perAddress: 2 });
  const port = await callbackServer.listen("127.0.0.1");
  callbackServer.setBaseUrl(new URL(`http://127.0.0.1:${port}`));
  const { url } = callbackServer.open(async (_, response) => void response.end());
  const socket = await hold(port, "127.0.0.1");
  socket.write(`GET ${new URL(url).pathname} HTTP/1.1\r\nHost: callbackServer\r\n\r\n`);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^keep-alive: timeout=600\r$/im);
});
