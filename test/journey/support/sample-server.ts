/** The server and the folder of the tests that run the samples of the playground. */
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { ROOT } from "../../../src/dev/bundle.ts";
import type { Json } from "../../../src/protocol/common.ts";

/** A replacement for `curl` with only the flags that the samples use: some machines have no curl. */
const CURL = `#!${process.execPath}
import { openAsBlob, writeFileSync } from "node:fs";
const rest = process.argv.slice(2);
if (rest[0] === "-N") rest.shift();
const url = rest.shift();
const headers = [];
const form = new FormData();
let output;
let body;
while (rest.length > 0) {
  const [name, value] = rest.splice(0, 2);
  if (name === "-H") headers.push(value.split(": "));
  else if (name === "-o") output = value;
  else if (name === "--form-string" || name === "-F") {
    const [field, ...text] = value.split("=");
    const isFile = name === "-F" && text[0].startsWith("@");
    form.append(field, isFile ? await openAsBlob(text[0].slice(1)) : text.join("="));
    body = form;
  }
  else if (name === "-d" && !value.startsWith("@")) body = value;
  else throw new Error(name);
}
const response = await fetch(url, { method: "POST", headers, body });
if (output) writeFileSync(output, Buffer.from(await response.arrayBuffer()));
else process.stdout.write(await response.text());
`;

const typed = (...events: { type: string; [name: string]: Json }[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const MESSAGE: Json = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "demo/it",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** "a picture" as base64. */
export const PICTURES = '{"created":1,"data":[{"b64_json":"YSBwaWN0dXJl"}]}';

const ANSWERS: Record<string, [type: string, body: string]> = {
  "/v1/predictions": ["application/json", '{"status":"succeeded","output":"Off with"}'],
  "/replicate/v1/models/demo/it/predictions": [
    "application/json",
    '{"id":"01980c3e","status":"succeeded","output":"Off with","urls":{}}',
  ],
  "/openai/v1/chat/completions": [
    "text/event-stream",
    `data: {"choices":[{"index":0,"delta":{"content":"Off with"}}]}\n\ndata: [DONE]\n\n`,
  ],
  "/openai/v1/responses": [
    "text/event-stream",
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Off with"}\n\n',
  ],
  "/openai/v1/embeddings": [
    "application/json",
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}]}',
  ],
  "/anthropic/v1/messages": [
    "text/event-stream",
    typed(
      { type: "message_start", message: MESSAGE },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Off with" } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 2 },
      },
      { type: "message_stop" },
    ),
  ],
  "/openai/v1/images/generations": ["application/json", PICTURES],
  "/openai/v1/images/edits": ["application/json", PICTURES],
  "/openai/v1/audio/speech": ["audio/wav", "a sound"],
  "/openai/v1/audio/transcriptions": ["application/json", '{"text":"Off with"}'],
};

export interface Got {
  path: string;
  authorization: string | undefined;
  type: string | undefined;
  body: Json;
}

/** A server that answers each call of a sample, and a folder with `curl`, the clients and files to send. */
export class SampleServer {
  /** The requests since this list was last emptied. */
  got: Got[] = [];
  readonly folder: string;
  origin = "";
  readonly #http = http.createServer(async (request, response) => {
    const { url: path = "", headers } = request;
    const sent = await buffer(request);
    const { "content-type": type = "", authorization } = headers;
    this.got.push({ path, authorization, type, body: await bodyOf(type, sent) });
    const [answerType, answer] = ANSWERS[path] ?? ["text/plain", "nothing here"];
    response.writeHead(path in ANSWERS ? 200 : 404, { "content-type": answerType }).end(answer);
  });

  static async open(): Promise<SampleServer> {
    const folder = await mkdtemp(join(tmpdir(), "auspex-calls-"));
    await writeFile(join(folder, "package.json"), '{"type": "module"}');
    await writeFile(join(folder, "curl"), CURL, { mode: 0o755 });
    // Node finds the clients' packages from the folder that the samples run in.
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "picture.png"), "my picture");
    await writeFile(join(folder, "speech.wav"), "my speech");
    const server = new SampleServer(folder);
    server.#http.listen(0, "127.0.0.1");
    await once(server.#http, "listening");
    const address = server.#http.address();
    if (typeof address !== "object" || address === null) throw new Error("no port");
    server.origin = `http://127.0.0.1:${address.port}`;
    return server;
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  async close(): Promise<void> {
    this.#http.close();
    await rm(this.folder, { recursive: true });
  }
}

/** Parses the body of a request. A form becomes its texts, with the texts of its files. */
async function bodyOf(type: string, sent: Buffer): Promise<Json> {
  if (!type.startsWith("multipart/")) return JSON.parse(sent.toString());
  const form = await new Response(new Uint8Array(sent), {
    headers: { "content-type": type },
  }).formData();
  const fields = [...form].map(async ([name, value]): Promise<[string, string]> => {
    return [name, typeof value === "string" ? value : await value.text()];
  });
  return Object.fromEntries(await Promise.all(fields));
}
