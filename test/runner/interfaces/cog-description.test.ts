import { createServer, type RequestListener, type Server } from "node:http";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { describe } from "../../../runner/src/interfaces/cog/description.ts";
import { ContainerClient } from "../../../runner/src/interfaces/container-client.ts";
import { describeServer } from "../../../runner/src/interfaces/describe-server.ts";
import { described as describedVersion } from "../../../src/domain/images/server-description.ts";
import { MAX_DESCRIPTION, serverDescription } from "../../../src/protocol/runner.ts";
import { Failure } from "../../../src/run/failure.ts";
import { sized } from "../../support/sized.ts";
import { examplesFolder, startExample } from "../support/example.ts";
import { errorOf, serve } from "../support/public-fetch-server.ts";

const never = new AbortController().signal;
const SCHEMA = JSON.stringify({
  components: {
    schemas: {
      Output: {
        type: "array",
        "x-cog-array-type": "iterator",
        items: { type: "string", format: "uri" },
      },
    },
  },
});
const NONE = { iterator: false, declaresFiles: false, chatOnly: false };
const TIMES = { answerMs: 10_000, patienceMs: 10_000, pollMs: 1, quietMs: 10_000 };
/** Times with enough patience for answers on a busy machine. */
const SOON = { ...TIMES, patienceMs: 60, quietMs: 10 };
const SILENT = { ...SOON, answerMs: 20 };

const ask = async (
  handler: RequestListener,
  times = TIMES,
  end = never,
  report: (logs: string) => void = () => {},
) => {
  const { url } = await serve(handler);
  return describe(new ContainerClient(new URL(url)), { report, end }, times);
};

test("a container that is slow or busy at first is asked again", async () => {
  let asked = 0;
  const troubles: RequestListener[] = [
    (request) => request.socket.destroy(),
    (_request, response) => void response.writeHead(503).end("{}"),
    (_request, response) => void response.writeHead(429).end(),
    // This answer never comes: the patience with one answer ends.
    () => {},
  ];
  const found = await ask(
    (request, response) => {
      const trouble = troubles[asked++];
      if (trouble) trouble(request, response);
      else response.end(SCHEMA);
    },
    { ...TIMES, answerMs: 200 },
  );
  expect(found).toEqual({ iterator: true, declaresFiles: true, chatOnly: false });
  expect(asked).toBe(5);
});

test.each([404, 405, 401])("a container that answers %i has no schema", async (status) => {
  expect(await ask((_request, response) => void response.writeHead(status).end())).toEqual(NONE);
});

test.each<[string, RequestListener]>([
  ["an error for good", (_request, response) => void response.writeHead(503).end()],
  ["nothing in it", (_request, response) => void response.end("{}")],
])("a container that answers %s has no schema", async (_name, handler) => {
  expect(await ask(handler, SOON)).toEqual(NONE);
});

test.each<[string, RequestListener, RegExp, times?: typeof TIMES]>([
  ["silence", () => {}, /output schema could not be read/, SILENT],
  [
    "no JSON",
    (_request, response) => void response.end("<html>"),
    /openapi\.json response is not Cog's/,
  ],
  [
    "another shape",
    (_request, response) => void response.end("[]"),
    /openapi\.json response is not Cog's/,
  ],
])(
  "a container that answers %s has a failed setup",
  async (_name, handler, message, times = SOON) => {
    const error = await errorOf(ask(handler, times));
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ source: "external", message: expect.stringMatching(message) });
  },
);

test("a long wait is explained once", async () => {
  const told: string[] = [];
  const handler: RequestListener = (_request, response) => void response.writeHead(503).end();
  expect(await ask(handler, SOON, never, (logs) => told.push(logs))).toEqual(NONE);
  expect(told).toEqual([
    expect.stringMatching(/openapi\.json responds with 503: .* cog build include their schema/),
  ]);
  const found: RequestListener = (_request, response) => void response.end(SCHEMA);
  expect(await ask(found, TIMES, never, (logs) => told.push(logs))).toMatchObject({
    iterator: true,
  });
  expect(told).toHaveLength(1);
});

test("a container that ends during the wait ends it", async () => {
  const gone = new AbortController();
  const asked = ask(() => gone.abort(new Error("gone")), TIMES, gone.signal);
  expect(await errorOf(asked)).toMatchObject({ message: "gone" });
});

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Serves these answers; a path with `undefined` gets no answer, and any other path is a 404. */
async function described(answers: Record<string, string | number | undefined>) {
  server = createServer((request, response) => {
    const path = request.url ?? "";
    const answer = path in answers ? answers[path] : 404;
    if (typeof answer === "number") response.writeHead(answer).end("{}");
    else if (answer !== undefined) response.end(answer);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("not listening");
  const client = new ContainerClient(new URL(`http://127.0.0.1:${address.port}`));
  // Only an answer that never comes is waited for to the end.
  const answerMs = Object.values(answers).includes(undefined) ? 2_000 : 60_000;
  const description = await describeServer(client, answerMs);
  client.close();
  return serverDescription.optional().parse(description);
}

const openapi = (more: object) => JSON.stringify({ openapi: "3.1.0", paths: {}, ...more });

test("a description has the server's answers, without parts that describe no model", async () => {
  const models = '{"data":[{"id":"base"}]}';
  const document = openapi({
    paths: { "/v1/chat/completions": { post: { description: "long" } } },
    components: { schemas: { ChatCompletionRequest: { type: "object" } } },
  });
  expect(await described({ "/openapi.json": document, "/v1/models": models })).toEqual({
    openapi: openapi({ paths: { "/v1/chat/completions": {} }, components: { schemas: {} } }),
    models,
  });
});

test("a description of a 3 MB document has only the parts that are needed", async () => {
  const schemas = { Input: { type: "object" }, Other: { description: "x".repeat(3_000_000) } };
  const told = await described({ "/openapi.json": openapi({ components: { schemas } }) });
  expect(told?.openapi).toBe(openapi({ components: { schemas: { Input: schemas.Input } } }));
});

test("a part that is larger than a description may be is left out", async () => {
  const schemas = { Input: { description: "x".repeat(MAX_DESCRIPTION) } };
  const large = "x".repeat(40_000);
  const told = await described({
    "/openapi.json": openapi({ components: { schemas } }),
    "/v1/models": large,
    "/info": "{}",
  });
  expect(told).toEqual({ info: "{}" });
});

test.each([
  ["refuses", { "/openapi.json": 500, "/v1/models": 404, "/info": 401 }],
  ["tells nonsense", { "/openapi.json": "<html>" }],
])("a server that %s has no description, and is not asked again", async (_, answers) => {
  expect(await described(answers)).toEqual({});
});

test.each([
  ["its document", { "/openapi.json": undefined, "/v1/models": '{"data":[{"id":"base"}]}' }],
  ["its document, being busy", { "/openapi.json": 503, "/v1/models": '{"data":[]}' }],
  ["its models, without a document", { "/v1/models": undefined }],
  ["what it is, without a document", { "/openapi.json": "<html>", "/info": 429 }],
])("a server that has not answered %s is asked again", async (_, answers) => {
  expect(await described(answers)).toBeUndefined();
});

test("a server with a document is described, whatever else is not answered", async () => {
  const answers = { "/openapi.json": openapi({}), "/v1/models": undefined, "/info": 503 };
  expect(await described(answers)).toEqual({ openapi: expect.any(String) });
});

const CHATS = ["vendora_chat_completions", "vendora_responses"] as const;

// The first two start faster than the others, whose models are trained at their start.
const examples = [
  ["chat", "vendora", "messages", "streams", CHATS],
  ["image", "cog", "prompt", "streams", ["vendora_images_generations", "vendora_images_edits"]],
  ["text-generation", "cog", "prompt", "streams", ["vendora_completions"]],
  ["scribe-cog", "cog", "messages", "streams", CHATS],
  ["text-to-speech", "cog", "text", "", ["vendora_audio_speech"]],
  ["speech-to-text", "cog", "audio", "", ["vendora_audio_transcriptions"]],
] as const;
test.each(examples.slice(0, sized(2, examples.length)))(
  "of the example %s a version learns what it can do",
  async (...row) => {
    const [name, spoken, named, streams, calls] = row;
    const example = await startExample(join(examplesFolder, name));
    const client = new ContainerClient(new URL(example.url));
    try {
      const told = (await describeServer(client)) ?? expect.fail("no answer");
      const version = describedVersion(spoken, {}, told);
      const able = Object.entries(version.compatibilities).filter(([, can]) => can);
      expect(able.map(([flag]) => flag)).toEqual(calls);
      expect(version.schemas.prediction.input.properties).toHaveProperty(named);
      expect(version.schemas.prediction.stream_output).toBe(streams === "streams");
    } finally {
      client.close();
      await example.stop();
    }
  },
);
