/** The samples that the playground shows, run unchanged against a server that checks its requests. */
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeSamples, type SampleOptions } from "../../src/dashboard/playground/code/samples.ts";
import type { Json } from "../../src/protocol/common.ts";
import { newCompatibilities } from "../../src/protocol/model.ts";
import { type Got, PICTURES, SampleServer } from "./support/sample-server.ts";

let server: SampleServer;
beforeAll(async () => {
  server = await SampleServer.open();
});
afterAll(() => server.close());

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
    origin: server.origin,
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
  server.got = [];
  const code = codeOf(id, run);
  const [command, ...args] = commandFor(id, code);
  const child = spawn(command, args, {
    cwd: server.folder,
    env: { PATH: [server.folder, process.env.PATH].join(delimiter), AUSPEX_TOKEN: "aus_test" },
  });
  const [printed, trouble] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [first, ...others] = server.got;
  if (!first || others.length > 0) throw new Error(`${server.got.length} requests: ${trouble}`);
  return { printed, got: first };
}

/** Runs modules one after the other in one process: the clients take a second to load. */
async function outcomes(codes: string[]): Promise<{ printed: string[]; got: Got[] }> {
  server.got = [];
  const files = codes.map((_, n) => `sample-${n}.mjs`);
  for (const [n, code] of codes.entries())
    await writeFile(join(server.folder, `sample-${n}.mjs`), code);
  const all = `for (const file of ${JSON.stringify(files)}) {
    await import(\`\${process.cwd()}/\${file}\`);
    process.stdout.write("\\0");
  }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", all], {
    cwd: server.folder,
    env: { PATH: process.env.PATH, AUSPEX_TOKEN: "aus_test" },
  });
  const [printed, trouble] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(trouble).toBe("");
  return { printed: printed.split("\0").slice(0, -1), got: server.got };
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
  expect(await readFile(join(server.folder, "picture-1.png"), "utf8")).toBe("a picture");
});

test("curl samples for pictures and sounds send the right bodies and save the files", async () => {
  const body = { ...IMAGE, response_format: "url" };
  const made = await outcome("images-curl", { input: IMAGE_INPUT });
  expect(made).toMatchObject({ printed: PICTURES, got: { body } });
  const edited = await outcome("edits-curl", { input: IMAGE_INPUT });
  expect(edited.got.body).toEqual({ ...asTexts(body), image: "my picture" });
  const said = await outcome("speech-curl", { input: SPEECH_INPUT });
  expect(said.got.body).toEqual(SPEECH);
  expect(await readFile(join(server.folder, "speech.wav"), "utf8")).toBe("a sound");
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
