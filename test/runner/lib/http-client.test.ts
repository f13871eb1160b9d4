import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HttpClient, UnusableResponse } from "../../../runner/src/lib/http-client.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

let handle: Handler;
let connections = 0;
const server = createServer((request, response) => void handle(request, response));
server.on("connection", () => connections++);
let client: HttpClient;

beforeEach(async () => {
  connections = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  client = new HttpClient(new URL(`http://127.0.0.1:${port}`), 3_000);
});
afterEach(async () => {
  client.close();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const get = (more: Partial<Parameters<HttpClient["call"]>[1]> = {}) =>
  client.call("/", { method: "GET", timeoutMs: 10_000, ...more });

test("the client sends text or bytes with their length, and returns the whole answer", async () => {
  handle = async (request, response) => {
    const { method, url, headers } = request;
    const body = [method, url, headers["content-length"], headers["x-a"], await text(request)];
    response.writeHead(201, { "retry-after": "2" }).end(JSON.stringify(body));
  };
  const call = { method: "POST", headers: { "x-a": "b" }, timeoutMs: 10_000 } as const;
  const answer = await client.call("/a?b", { ...call, body: "Grüße" });
  expect(answer).toMatchObject({ status: 201, headers: { "retry-after": "2" } });
  expect(JSON.parse(answer.body)).toEqual(["POST", "/a?b", "7", "b", "Grüße"]);
  const bytes = await client.call("/", { ...call, body: Buffer.from("Grüße") });
  expect(JSON.parse(bytes.body)).toEqual(["POST", "/", "7", "b", "Grüße"]);
  expect(connections).toBe(1);
});

test("the client does not follow a redirect", async () => {
  handle = (_, response) => response.writeHead(302, { location: "/elsewhere" }).end();
  expect(await get()).toMatchObject({ status: 302, body: "" });
});

test("the client calls again when a kept-alive connection was closed, but not when a new one is", async () => {
  let calls = 0;
  handle = ({ socket }, response) => {
    calls++;
    if (calls === 2) socket.resetAndDestroy();
    else response.end("ok");
  };
  expect((await get()).body).toBe("ok");
  expect((await get()).body).toBe("ok");
  expect([calls, connections]).toEqual([3, 2]);
  handle = ({ socket }) => socket.resetAndDestroy();
  await expect(get()).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("the client does not call again when an answer breaks off on a kept-alive connection", async () => {
  let calls = 0;
  handle = (_, response) => response.end("ok");
  await get();
  handle = ({ socket }, response) => {
    calls++;
    response.write("half", () => socket.resetAndDestroy());
  };
  await expect(get()).rejects.toThrow();
  expect([calls, connections]).toEqual([1, 1]);
});

test("the client gives up in time, also in the middle of an answer, and does not call again", async () => {
  let calls = 0;
  handle = (_, response) => response.end("ok");
  await get();
  handle = (_, response) => void (calls++ === 0 || response.write("half"));
  await expect(get({ timeoutMs: 20 })).rejects.toThrow("no response within 0.02 s");
  await expect(get({ timeoutMs: 20 })).rejects.toThrow("no response within 0.02 s");
  // The client may give up before the server has seen the call, on a busy machine.
  expect(calls).toBeLessThanOrEqual(2);
});

test("the client ends with the signal's reason, before and during the call", async () => {
  const stop = new AbortController();
  let calls = 0;
  handle = () => {
    calls++;
    stop.abort("mine");
  };
  await expect(get({ signal: stop.signal })).rejects.toBe("mine");
  await expect(get({ signal: stop.signal })).rejects.toBe("mine");
  expect(calls).toBe(1);
});

test("an answer that breaks off is an error", async () => {
  handle = ({ socket }, response) => response.write("half", () => socket.destroy());
  await expect(get()).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("an answer that is too large, or in another protocol, is an error", async () => {
  handle = (_, response) => response.end("12345");
  expect((await get({ maxBytes: 5 })).body).toBe("12345");
  await expect(get({ maxBytes: 4 })).rejects.toThrow(UnusableResponse);
  handle = ({ socket }) =>
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
  await expect(get()).rejects.toThrow("did not respond with HTTP");
});
