/** Bodies that are refused before they are read: their sender gets the reason, as with `npm start`. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { OpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { World } from "./support/world.ts";

const MIB = 1024 * 1024;

let world: World;
let url: string;

beforeAll(async () => {
  world = await World.open();
  ({ url } = await world.relay());
});
afterAll(() => world.close());

const large = () => JSON.stringify({ model: "ada/hello", input: { name: "x".repeat(20 * MIB) } });

describe.each([
  ["too large", () => world.access.token, 413],
  ["of nobody", () => "aus_nobodys", 401],
])("a body that is %s", (_, token, status) => {
  test("curl gets the refusal", async () => {
    const curl = promisify(execFile)("curl", [
      ...["-sS", `${url}/v1/predictions`, "-o", "/dev/null", "-w", "%{http_code}"],
      ...["-H", `Authorization: Bearer ${token()}`, "-H", "Content-Type: application/json"],
      ...["--data-binary", "@-"],
    ]);
    curl.child.stdin?.on("error", () => {}).end(large());
    expect((await curl).stdout).toBe(String(status));
  });

  test("fetch gets the refusal", async () => {
    const answer = await fetch(`${url}/v1/predictions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token()}`, "content-type": "application/json" },
      body: large(),
    });
    expect(answer.status).toBe(status);
  });

  test("the official client gets the refusal", async () => {
    const openai = new OpenAI({ baseURL: `${url}/v1/vendora`, apiKey: token(), maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "x".repeat(20 * MIB) }];
    const call = openai.chat.completions.create({ model: "ada/chat", messages });
    await expect(call).rejects.toMatchObject({ status });
  });

  test("a sender that reads only after the whole body gets the refusal", async () => {
    const { hostname: host, port } = new URL(url);
    const socket = connect({ host, port: Number(port), allowHalfOpen: true });
    const body = Buffer.from(large());
    const answer = text(socket);
    socket.write(
      `POST /v1/predictions HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\nauthorization: Bearer ${token()}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    for (let at = 0; at < body.length; at += MIB)
      if (!socket.write(body.subarray(at, at + MIB))) await once(socket, "drain");
    socket.end();
    expect(await answer).toContain(`HTTP/1.1 ${status}`);
  });
});
