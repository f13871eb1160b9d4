import type { RequestListener } from "node:http";
import { expect, test } from "vitest";
import { describe } from "../../../runner/src/interfaces/cog/description.ts";
import { ContainerClient } from "../../../runner/src/interfaces/container-client.ts";
import { Failure } from "../../../runner/src/lib/failure.ts";
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
