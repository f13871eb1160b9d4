/** The lines that the playground shows, run as they stand against a server that looks at what it gets. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallOptions, codeSamples } from "../../src/dashboard/playground/code/samples.ts";
import type { Json } from "../../src/protocol/common.ts";
import { newCompatibilities } from "../../src/protocol/model.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Of curl those flags that are used: not every machine has it. */
const CURL = `#!${process.execPath}
const [flag, url, ...rest] = process.argv.slice(2);
const headers = [];
let body;
while (rest.length > 0) {
  const [name, value] = rest.splice(0, 2);
  if (name === "-H") headers.push(value.split(": "));
  else if (name === "-d" && !value.startsWith("@")) body = value;
  else throw new Error(name);
}
if (flag !== "-N") throw new Error(flag);
const response = await fetch(url, { method: "POST", headers, body });
process.stdout.write(await response.text());
`;

const named = (...events: [string, Json][]) =>
  events
    .map(([name, data], n) => `id: ${n + 1}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
    .join("");

const ANSWERS: Record<string, [type: string, body: string]> = {
  "/v1/predictions": [
    "text/event-stream",
    named(
      ["status", { status: "started" }],
      ["output", "Off "],
      ["output", ["with"]],
      // In JSON as they are, and ends of lines to JavaScript alone.
      ["output", "his\u2028head\u2029"],
      ["done", {}],
    ),
  ],
  "/v1/vendora/chat/completions": [
    "text/event-stream",
    `data: {"choices":[{"index":0,"delta":{"content":"Off with"}}]}\n\ndata: [DONE]\n\n`,
  ],
  "/v1/vendora/responses": [
    "text/event-stream",
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Off with"}\n\n',
  ],
  "/v1/vendora/embeddings": [
    "application/json",
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}]}',
  ],
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
  const body: Json = JSON.parse(await text(request));
  got.push({ path, authorization: headers.authorization, type: headers["content-type"], body });
  const [type, answer] = ANSWERS[path] ?? ["text/plain", "nothing here"];
  response.writeHead(path in ANSWERS ? 200 : 404, { "content-type": type }).end(answer);
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "auspex-calls-"));
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  await writeFile(join(folder, "curl"), CURL, { mode: 0o755 });
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
});

function codeOf(id: string, run: Partial<CallOptions>): string {
  const all = { origin, model: "demo/it", input: {}, compatibilities: COMPATIBILITIES, ...run };
  return codeSamples(all).find((call) => call.id === id)?.code ?? "";
}

/** Runs it as its reader would. @returns what it prints, and what the server got */
async function outcome(
  id: string,
  run: Partial<CallOptions>,
): Promise<{ printed: string; got: Got }> {
  got = [];
  const code = codeOf(id, run);
  const [command, args] =
    id === "curl" ? ["sh", ["-c", code]] : [process.execPath, ["--input-type=module", "-e", code]];
  const child = spawn(command as string, args as string[], {
    cwd: ROOT,
    env: { PATH: [folder, process.env.PATH].join(delimiter), AUSPEX_TOKEN: "aus_test" },
  });
  const [printed, trouble] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [first] = got;
  if (!first || got.length > 1) throw new Error(`${got.length} requests: ${trouble}`);
  return { printed, got: first };
}

/** What a shell, or a reader of JavaScript, might take for something of its own. */
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
  test("sends the input as it is", async () => {
    const { printed, got } = await outcome("curl", { version: 3, input: NASTY });
    expect(got).toEqual({
      path: "/v1/predictions",
      authorization: "Bearer aus_test",
      type: "application/json",
      body: { model: "demo/it:3", input: NASTY, stream: true },
    });
    expect(Object.hasOwn(NASTY, "__proto__")).toBe(true);
    expect(printed).toContain('event: output\ndata: "Off "');
  });

  test("sends any text as it is", async () => {
    const texts = fc.sample(fc.string({ unit: "binary" }), 300);
    const { got } = await outcome("curl", { input: { texts } });
    expect(got.body).toEqual({ model: "demo/it", input: { texts }, stream: true });
  });
});

describe("JavaScript", () => {
  test("sends the input as it is, and prints what streams", async () => {
    const { printed, got } = await outcome("fetch", { version: 3, input: NASTY });
    expect(got).toMatchObject({ path: "/v1/predictions", authorization: "Bearer aus_test" });
    expect(got.body).toEqual({ model: "demo/it:3", input: NASTY, stream: true });
    expect(printed).toBe('Off ["with"]\nhis\u2028head\u2029');
  });
});

describe("OpenAI's client", () => {
  test.each<[string, { [name: string]: Json }, object]>([
    [
      "chat",
      { messages: [{ role: "user", content: "Who?" }], temperature: 0.5, stream: false },
      { messages: [{ role: "user", content: "Who?" }], temperature: 0.5 },
    ],
    [
      "chat",
      { prompt: "it's", seed: 1 },
      { messages: [{ role: "user", content: "it's" }], seed: 1 },
    ],
    ["chat", {}, { messages: [{ role: "user", content: "Who are you?" }] }],
    [
      "responses",
      { messages: [{ role: "user", content: "Who?" }] },
      { input: [{ role: "user", content: "Who?" }] },
    ],
    ["responses", { input: "Who?", top_p: 1 }, { input: "Who?", top_p: 1 }],
    ["responses", { prompt: "", input: "" }, { input: "Who are you?" }],
  ])("%s of %j", async (id, input, expected) => {
    const { printed, got } = await outcome(id, { input });
    expect(got.body).toEqual({ model: "demo/it", stream: true, ...expected });
    expect(got.authorization).toBe("Bearer aus_test");
    expect(printed).toBe("Off with");
  });

  test("embeddings", async () => {
    const { printed, got } = await outcome("embeddings", { input: { input: ["cat", "kitten"] } });
    expect(got.body).toMatchObject({ model: "demo/it", input: ["cat", "kitten"] });
    expect(printed).toBe("[ 0.5 ]\n");
  });
});
