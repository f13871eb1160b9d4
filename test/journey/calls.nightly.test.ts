/** The samples that the playground shows, run unchanged against a server that checks its requests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeSamples, type SampleOptions } from "../../src/dashboard/playground/code/samples.ts";
import type { Json } from "../../src/protocol/common.ts";
import { newCompatibilities } from "../../src/protocol/model.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A replacement for `curl` with only the flags that the samples use: some machines have no curl. */
const CURL = `#!${process.execPath}
import { openAsBlob, writeFileSync } from "node:fs";
const [flag, url, ...rest] = process.argv.slice(2);
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
if (flag !== "-N") throw new Error(flag);
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
const PICTURES = '{"created":1,"data":[{"b64_json":"YSBwaWN0dXJl"}]}';

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

interface Got {
  path: string;
  authorization: string | undefined;
  type: string | undefined;
  body: Json;
}

let got: Got[] = [];
let folder: string;
let origin: string;

const server = http.createServer(async (request, response) => {
  const { url: path = "", headers } = request;
  const sent = await buffer(request);
  const { "content-type": type = "", authorization } = headers;
  got.push({ path, authorization, type, body: await bodyOf(type, sent) });
  const [answerType, answer] = ANSWERS[path] ?? ["text/plain", "nothing here"];
  response.writeHead(path in ANSWERS ? 200 : 404, { "content-type": answerType }).end(answer);
});

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

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "auspex-calls-"));
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  await writeFile(join(folder, "curl"), CURL, { mode: 0o755 });
  // Node finds the clients' packages from the folder that the samples run in.
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "picture.png"), "my picture");
  await writeFile(join(folder, "speech.wav"), "my speech");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  origin = `http://127.0.0.1:${address.port}`;
});

afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const COMPATIBILITIES = newCompatibilities.parse({
  vendora_chat_completions: true,
  vendora_responses: true,
  vendora_embeddings: true,
  vendora_images_generations: true,
  vendora_images_edits: true,
  vendora_audio_speech: true,
  vendora_audio_transcriptions: true,
});

function codeOf(id: string, run: Partial<SampleOptions>): string {
  const all = {
    origin,
    model: "demo/it",
    input: {},
    compatibilities: COMPATIBILITIES,
    streams: false,
    ...run,
  };
  return codeSamples(all).find((call) => call.id === id)?.code ?? "";
}

/** Runs a sample as a reader of the playground would. @returns what it prints, and what the server got */
async function outcome(
  id: string,
  run: Partial<SampleOptions>,
): Promise<{ printed: string; got: Got }> {
  got = [];
  const code = codeOf(id, run);
  const [command, ...args] = commandFor(id, code);
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: [folder, process.env.PATH].join(delimiter), AUSPEX_TOKEN: "aus_test" },
  });
  const [printed, trouble] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [first] = got;
  if (!first || got.length > 1) throw new Error(`${got.length} requests: ${trouble}`);
  return { printed, got: first };
}

/** Runs modules one after the other in one process: the clients take a second to load. */
async function outcomes(codes: string[]): Promise<{ printed: string[]; got: Got[] }> {
  got = [];
  const files = codes.map((_, n) => `sample-${n}.mjs`);
  for (const [n, code] of codes.entries()) await writeFile(join(folder, `sample-${n}.mjs`), code);
  const all = `for (const file of ${JSON.stringify(files)}) {
    await import(\`\${process.cwd()}/\${file}\`);
    process.stdout.write("\\0");
  }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", all], {
    cwd: folder,
    env: { PATH: process.env.PATH, AUSPEX_TOKEN: "aus_test" },
  });
  const [printed, trouble] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(trouble).toBe("");
  return { printed: printed.split("\0").slice(0, -1), got };
}

function commandFor(id: string, code: string): [string, ...string[]] {
  if (id.endsWith("curl")) return ["sh", "-c", code];
  if (id.endsWith("python")) return ["python3", "-c", code];
  return [process.execPath, "--input-type=module", "-e", code];
}

/** Inputs with characters that a shell or JavaScript could take for its own syntax. */
const NASTY: { [name: string]: Json } = JSON.parse(
  JSON.stringify({
    quotes: `it's "quoted" \\' '' \\\\ \\n`,
    shell: "$HOME `id` $(id) $PATH !! ; & | > * ~ # % \\",
    lines: "a\nb\r\n\tc\u0000\u2028\u2029\u007f",
    text: "häkchen ✓ 🐈 \ud800 </script> <!-- $\x7b1} `",
    "a name, 'quoted'": [true, null, -1.5e-7, [], {}, { "": "" }],
    "@at": "@file",
  }).replace('"@at"', '"__proto__":{"x":1},"@at"'),
);

describe("a line for the shell", () => {
  test("the curl sample sends the input as it is", async () => {
    const { printed, got } = await outcome("predictions-curl", { version: 3, input: NASTY });
    expect(got).toEqual({
      path: "/v1/predictions",
      authorization: "Bearer aus_test",
      type: "application/json",
      body: { model: "demo/it:3", input: NASTY },
    });
    expect(Object.hasOwn(NASTY, "__proto__")).toBe(true);
    expect(printed).toContain('"output":"Off with"');
  });

  test("the curl sample sends any text as it is", async () => {
    const texts = fc.sample(fc.string({ unit: "binary" }), 300);
    const { got } = await outcome("predictions-curl", { input: { texts } });
    expect(got.body).toEqual({ model: "demo/it", input: { texts } });
  });
});

/** The client copies an input field by field, and so drops a field called `__proto__`. */
const PLAIN = Object.fromEntries(Object.entries(NASTY).filter(([name]) => name !== "__proto__"));

test("the JavaScript sample of a prediction sends the input as it is, and prints the output", async () => {
  const { printed, got } = await outcome("predictions-js", { input: PLAIN });
  expect(got).toMatchObject({
    path: "/replicate/v1/models/demo/it/predictions",
    authorization: "Bearer aus_test",
    body: { input: PLAIN },
  });
  expect(printed).toBe("Off with\n");
});

type Inputs = { [name: string]: Json };

const ROUND: [string, Inputs, Inputs][] = [
  [
    "chat",
    { messages: [{ role: "user", content: "Who?" }], temperature: 0.5, stream: false },
    { messages: [{ role: "user", content: "Who?" }], temperature: 0.5 },
  ],
  ["chat", { prompt: "it's", seed: 1 }, { messages: [{ role: "user", content: "it's" }], seed: 1 }],
  ["chat", {}, { messages: [{ role: "user", content: "Who are you?" }] }],
  [
    "responses",
    { messages: [{ role: "user", content: "Who?" }] },
    { input: [{ role: "user", content: "Who?" }] },
  ],
  ["responses", { input: "Who?", top_p: 1 }, { input: "Who?", top_p: 1 }],
  ["responses", { prompt: "", input: "" }, { input: "Who are you?" }],
  [
    "messages",
    {
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Who?" },
      ],
      temperature: 0.5,
    },
    {
      system: "Be brief.",
      messages: [{ role: "user", content: "Who?" }],
      max_tokens: 1000,
      temperature: 0.5,
    },
  ],
];

const IMAGE = {
  model: "demo/it",
  prompt: "A cat",
  n: 2,
  size: "64x32",
  response_format: "b64_json",
};
const IMAGE_INPUT = { prompt: "A cat", num_outputs: 2, width: 64, height: 32 };
const asTexts = (body: object) =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]));
const SPEECH_INPUT = { text: "Hello", voice: "low", pitch: 2 };
const SPEECH = { model: "demo/it", input: "Hello", voice: "low", response_format: "wav", pitch: 2 };

test("samples for the official clients in JavaScript send the right calls", async () => {
  const embeddings: Inputs = { input: ["cat", "kitten"] };
  const { printed, got } = await outcomes([
    ...ROUND.map(([id, input]) => codeOf(`${id}-js`, { input })),
    codeOf("embeddings-js", { input: embeddings }),
    codeOf("images-js", { input: IMAGE_INPUT }),
    codeOf("edits-js", { input: IMAGE_INPUT }),
    codeOf("speech-js", { input: SPEECH_INPUT }),
    codeOf("transcriptions-js", { input: { language: "en" } }),
  ]);
  expect(got.map(({ body }) => body)).toEqual([
    ...ROUND.map(([, , expected]) => ({ model: "demo/it", stream: true, ...expected })),
    { model: "demo/it", ...embeddings, encoding_format: expect.any(String) },
    IMAGE,
    { ...asTexts(IMAGE), image: "my picture" },
    SPEECH,
    { model: "demo/it", language: "en", file: "a sound" },
  ]);
  expect(new Set(got.map(({ authorization }) => authorization))).toEqual(
    new Set(["Bearer aus_test"]),
  );
  expect(printed).toEqual([...ROUND.map(() => "Off with"), "[ 0.5 ]\n", "", "", "", "Off with\n"]);
  expect(await readFile(join(folder, "picture-1.png"), "utf8")).toBe("a picture");
});

test("curl samples for pictures and sounds send the right bodies and save the files", async () => {
  const body = { ...IMAGE, response_format: "url" };
  const made = await outcome("images-curl", { input: IMAGE_INPUT });
  expect(made).toMatchObject({ printed: PICTURES, got: { body } });
  const edited = await outcome("edits-curl", { input: IMAGE_INPUT });
  expect(edited.got.body).toEqual({ ...asTexts(body), image: "my picture" });
  const said = await outcome("speech-curl", { input: SPEECH_INPUT });
  expect(said.got.body).toEqual(SPEECH);
  expect(await readFile(join(folder, "speech.wav"), "utf8")).toBe("a sound");
  const heard = await outcome("transcriptions-curl", { input: { language: "en" } });
  expect(heard.got.body).toEqual({ model: "demo/it", language: "en", file: "a sound" });
  expect(heard.printed).toBe('{"text":"Off with"}');
});

/**
 * A Python program that parses a sample and prints the arguments of its call. Debian has no packages of the
 * Python clients, so the samples cannot run.
 */
const READ_CALLS = `
import ast, json, sys
def read(code):
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    call = max(calls, key=lambda call: any(word.arg in ("model", "input") for word in call.keywords))
    body = {"model": ast.literal_eval(call.args[0])} if call.args else {}
    for word in call.keywords:
        if word.arg in ("file", "image"): continue
        value = ast.literal_eval(word.value)
        body.update(value if word.arg == "extra_body" else {word.arg: value})
    return [ast.unparse(call.func), body]
json.dump([read(code) for code in json.load(sys.stdin)], sys.stdout)
`;

test("official clients in Python get the same as those in JavaScript", async () => {
  const calls: [id: string, input: Inputs, call: string, body: Inputs][] = [
    ...ROUND.map(([id, input, expected]): [string, Inputs, string, Inputs] => {
      const call = { chat: "chat.completions.create", responses: "responses.create" }[id];
      const stream: Inputs = call === undefined ? {} : { stream: true };
      return [id, input, call ?? "messages.stream", { ...stream, ...expected }];
    }),
    [
      "chat",
      { ...NASTY, prompt: "Who?" },
      "chat.completions.create",
      {
        ...NASTY,
        messages: [{ role: "user", content: "Who?" }],
        stream: true,
      },
    ],
    ["predictions", NASTY, "run", { input: NASTY }],
    ["embeddings", { input: "cat" }, "embeddings.create", { input: "cat" }],
    ["images", IMAGE_INPUT, "images.generate", IMAGE],
    ["edits", IMAGE_INPUT, "images.edit", IMAGE],
    [
      "speech",
      { text: "Hello", voice: "low", pitch: 2 },
      "audio.speech.with_streaming_response.create",
      SPEECH,
    ],
    ["transcriptions", { language: "en" }, "audio.transcriptions.create", { language: "en" }],
  ];
  const child = spawn("python3", ["-c", READ_CALLS]);
  const codes = calls.map(([id, input]) => codeOf(`${id}-python`, { input }));
  child.stdin.end(JSON.stringify(codes));
  const [read, trouble] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(trouble).toBe("");
  expect(JSON.parse(read)).toEqual(
    calls.map(([, , call, body]) => [`client.${call}`, { model: "demo/it", ...body }]),
  );
});
