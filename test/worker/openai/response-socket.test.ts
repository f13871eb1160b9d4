/** Responses over a WebSocket: each message is a call, and its events are messages. */
import { expect, test } from "vitest";
import { ORIGIN } from "../support/client.ts";
import { answer, newest, put } from "../support/openai.ts";
import { newResponses, PATH } from "../support/openai-responses.ts";
import { connectTo, type Message, upgrade } from "../support/response-socket.ts";
import { newUser } from "../support/world.ts";

const { client, fleet, model } = await newResponses();

const connected = () => connectTo({ client, model });

test("a message on the socket is a call, the next ones wait, and each event names its lane", async () => {
  const { webSocket, messages, create, until } = await connected();
  create({ stream_id: "one" });
  create({ stream_id: "two", previous_response_id: "resp_none" });
  create({});
  await answer(fleet, "first");
  await answer(fleet, "third");
  await until("response.completed", 2);
  const [first, third] = messages.filter(({ type }) => type === "response.completed");
  expect(first).toMatchObject({
    stream_id: "one",
    response: { output: [{ content: [{ text: "first" }] }] },
  });
  expect(third).not.toHaveProperty("stream_id");
  expect(messages.filter(({ type }) => type === "error")).toMatchObject([
    { status: 400, stream_id: "two", error: { code: "previous_response_not_found" } },
  ]);
  expect(messages[0]?.type).toBe("response.created");
  webSocket.close();
});

test("a message that is no valid call is answered with an error, and the socket stays open", async () => {
  const { webSocket, messages, send, create, until } = await connected();
  webSocket.send("{");
  webSocket.send(new Uint8Array([1]));
  send({ type: "response.cancel" });
  create({ background: true, stream_id: "lane" });
  create({ stream_id: "no/lane" });
  create({ model: "no/model" });
  create({ input: 1 });
  await until("error", 7);
  const errors = messages.map(({ status, error }) => [status, error?.param]);
  // Errors of the socket can arrive before errors of a call.
  expect(errors).toEqual(
    expect.arrayContaining([
      [400, "type"],
      [400, null],
      [400, "background"],
      [400, "stream_id"],
      [404, "model"],
      [422, "input"],
    ]),
  );
  const lanes = messages.flatMap(({ stream_id, error }) => (stream_id ? [error?.param] : []));
  expect(lanes).toEqual(["background"]);
  webSocket.close();
});

test("a number as a stream_id is refused, and appears in no event", async () => {
  const { webSocket, messages, until } = await connected();
  webSocket.send('{"type":"response.create","stream_id":1.0,"input":"Hi"}');
  await until("error");
  expect(messages).toMatchObject([{ status: 400, error: { param: "stream_id" } }]);
  expect(JSON.stringify(messages)).not.toContain("exact-");
  webSocket.close();
});

test("an 18th message that waits is refused in its lane", async () => {
  const { webSocket, messages, create, until } = await connected();
  for (let n = 0; n < 18; n++) create({ stream_id: `lane-${n}` });
  await until("error");
  expect(messages[0]).toMatchObject({ status: 429, stream_id: "lane-17" });
  webSocket.close();
});

test("a socket is closed after a message that is too large, and after 64 that are no calls", async () => {
  const big = await connected();
  big.webSocket.send("x".repeat(10 * 1024 * 1024 + 1));
  expect(await big.closed).toBe(1009);
  expect(big.messages).toMatchObject([{ status: 413, error: { code: "request_too_large" } }]);
  const flood = await connected();
  for (let n = 0; n < 200; n++) flood.webSocket.send("{");
  expect(await flood.closed).toBe(1008);
  expect(flood.messages).toHaveLength(64);
});

test("a socket's response is cancelled when the caller closes the socket", async () => {
  const { webSocket, create, until } = await connected();
  create();
  const { channel } = await fleet.work();
  await put(channel, "on");
  await until("response.output_text.delta");
  webSocket.close();
  expect(await channel.next()).toMatchObject({ type: "cancel" });
  await channel.report([], { status: "canceled", output: "none" });
  expect(await client.status(await newest(client))).toBe("canceled");
});

test("a response that is canceled elsewhere ends on the socket, and the next one begins", async () => {
  const { webSocket, messages, create, until } = await connected();
  create({ stream_id: "one" });
  const { channel } = await fleet.work();
  await put(channel, "on");
  await until("response.output_text.delta");
  expect(await client.cancel(await newest(client))).toBe(202);
  expect(await channel.next()).toMatchObject({ type: "cancel" });
  await channel.report([], { status: "canceled", output: "none" });
  await until("error");
  expect(messages.at(-1)).toMatchObject({
    ...{ status: 400, stream_id: "one", error: { code: "canceled" } },
  });
  create();
  await answer(fleet, "next");
  await until("response.completed");
  expect(messages.filter(({ type }) => type === "error")).toHaveLength(1);
  webSocket.close();
});

test("a socket needs a token that may predict, and an upgrade", async () => {
  expect((await fetchAs("Bearer aus_none")).status).toBe(401);
  expect((await client.fetch(PATH)).status).toBe(405);
  const { client: stranger } = await newUser();
  const opened = await stranger.fetch(PATH, upgrade);
  expect(opened.status).toBe(101);
  opened.webSocket?.accept();
  opened.webSocket?.close();
});

const fetchAs = (authorization: string) =>
  client.fetch(`${ORIGIN}${PATH}`, { headers: { ...upgrade.headers, authorization } });

/** Returns the last completed response of a socket. */
const lastOf = (messages: Message[]) =>
  messages.findLast(({ type }) => type === "response.completed")?.response;

test("a response that is not stored is continued on its own socket, and nowhere else", async () => {
  const { webSocket, messages, create, until } = await connected();
  create({ store: false });
  await answer(fleet, "first");
  await until("response.completed");
  const first = lastOf(messages);
  create({ store: false, previous_response_id: first?.id, input: "And then?" });
  const job = await answer(fleet, "second");
  await until("response.completed", 2);
  expect(job.input).toMatchObject({
    input: [
      { role: "user" },
      { role: "assistant", content: [{ text: "first" }] },
      { role: "user" },
    ],
  });
  expect(lastOf(messages)).toMatchObject({ previous_response_id: first?.id });
  create({ store: false, previous_response_id: lastOf(messages)?.id, input: "Go on" });
  const { input } = await answer(fleet, "third");
  expect(input).toMatchObject({ input: { length: 5 } });
  await until("response.completed", 3);
  const other = await connected();
  other.create({ previous_response_id: lastOf(messages)?.id });
  await other.until("error");
  expect(other.messages[0]).toMatchObject({ error: { code: "previous_response_not_found" } });
  for (const socket of [webSocket, other.webSocket]) socket.close();
});

test("a continuation that fails also removes the response that it continued", async () => {
  const { webSocket, messages, create, until } = await connected();
  create({ store: false });
  await answer(fleet, "first");
  await until("response.completed");
  const previous_response_id = lastOf(messages)?.id;
  create({ model: "no/model" });
  await until("error");
  const output = { type: "function_call_output", call_id: "none", output: "x" };
  create({ store: false, previous_response_id, input: [output] });
  await until("error", 2);
  create({ store: false, previous_response_id });
  await until("error", 3);
  expect(messages.filter(({ type }) => type === "error")).toMatchObject([
    { error: { code: "model_not_found" } },
    { status: 400, error: { param: "input", message: expect.stringContaining("'none'") } },
    { status: 400, error: { code: "previous_response_not_found" } },
  ]);
  webSocket.close();
});

test("a response without generation does not run the model, and can be continued", async () => {
  const { webSocket, messages, create, until } = await connected();
  const before = await newest(client);
  create({ generate: false, store: false, instructions: "Be brief." });
  await until("response.completed");
  expect(messages.map(({ type }) => type)).toEqual([
    "response.created",
    "response.in_progress",
    "response.completed",
  ]);
  expect(lastOf(messages)).toMatchObject({ output: [], status: "completed" });
  expect(await newest(client)).toBe(before);
  create({ store: false, previous_response_id: lastOf(messages)?.id, input: "Now" });
  const { input } = await answer(fleet, "done");
  expect(input).toMatchObject({ input: [{ role: "user" }, { role: "user" }] });
  await until("response.completed", 2);
  create({ generate: false, model: "no/model" });
  await until("error");
  webSocket.close();
});

test("a plain POST cannot be without generation", async () => {
  const response = await client.post(PATH, { model, input: "Go on", generate: false });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "generate" } });
});
