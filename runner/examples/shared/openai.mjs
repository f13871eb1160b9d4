// A model server in one file: the OpenAI HTTP API for models written for Node. It is the same in every
// example that uses it. (Auspex calls this interface "vendora".)

import { once } from "node:events";
import http from "node:http";

const MAX_BODY = 10 * 1024 * 1024;

export class Refusal extends Error {
  constructor(status, message, { type = "invalid_request_error", param = null, code = null } = {}) {
    super(message);
    this.status = status;
    this.body = { error: { message, type, param, code } };
  }
}

/**
 * @callback Call handles one endpoint. It returns the response, or an async iterable, which is
 *   streamed. An error before the first chunk becomes a status; a later one ends the stream.
 * @param {object} body the request body
 * @param {AbortSignal} signal aborts when the client disconnects
 */

/**
 * Serves a model under the name in its manifest. `manifest` is the parsed auspex.json.
 * @param {{ name: string }} manifest
 * @param {{ load: () => unknown, calls: Record<string, Call> }} model `calls` by path
 */
export function serve({ name }, { load, calls }) {
  const created = Math.floor(Date.now() / 1000);
  const card = { id: name, object: "model", created, owned_by: "auspex" };
  let ready = false;
  let running = 0;

  const pages = {
    "/health": () => {
      if (!ready) throw loading();
      return { status: "ok" };
    },
    "/v1/models": () => ({ object: "list", data: [card] }),
    [`/v1/models/${name}`]: () => card,
  };

  async function answer(req, res) {
    const path = req.url.split("?")[0];
    if (path === "/metrics" && req.method === "GET") return res.end(metrics(running));
    const allowed = Object.hasOwn(calls, path) ? "POST" : Object.hasOwn(pages, path) && "GET";
    if (!allowed) throw new Refusal(404, `Invalid URL (${req.method} ${path})`);
    if (req.method !== allowed) {
      res.setHeader("allow", allowed);
      throw new Refusal(405, `${path} supports ${allowed}, not ${req.method}`);
    }
    if (allowed === "GET") return reply(res, 200, pages[path]());
    const body = await readJson(req);
    if (!ready) throw loading();
    served(body.model, name);
    const gone = new AbortController();
    res.on("close", () => res.writableFinished || gone.abort());
    running++;
    try {
      const result = await calls[path](body, gone.signal);
      if (result[Symbol.asyncIterator]) await stream(res, result, gone.signal);
      else reply(res, 200, result);
    } finally {
      running--;
    }
  }

  const server = http.createServer({ keepAliveTimeout: 60_000 }, (req, res) =>
    answer(req, res).catch((error) => refuse(res, error)),
  );
  // Node ignores these signals by default when it is process 1 of a container.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
  server.listen(Number(process.env.PORT ?? 5000), process.env.HOST ?? "0.0.0.0", async () => {
    const { address, port } = server.address();
    console.log(`listening on http://${address}:${port}`);
    await load();
    ready = true;
  });
}

const loading = () =>
  new Refusal(503, "Loading model", { type: "unavailable_error", code: "model_loading" });

function served(model, name) {
  const wanted = { param: "model", code: "model_not_found" };
  if (model === undefined || model === null || model === "")
    throw new Refusal(400, "you must provide a model parameter");
  if (model !== name)
    throw new Refusal(
      404,
      `The model \`${model}\` does not exist. This server has \`${name}\``,
      wanted,
    );
}

/** A Prometheus metric with llama.cpp's name, which shows when a canceled request has ended. */
const metrics = (running) => `# HELP llamacpp:requests_processing Number of requests processing.
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing ${running}
`;

/** Writes one event for each chunk, and `[DONE]` at the end. */
async function stream(res, pieces, signal) {
  for await (const piece of pieces) {
    if (signal.aborted) return;
    if (!res.headersSent) {
      res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    }
    if (!res.write(`data: ${JSON.stringify(piece)}\n\n`)) await once(res, "drain", { signal });
  }
  if (!signal.aborted) res.end("data: [DONE]\n\n");
}

function refuse(res, error) {
  // The client has disconnected.
  if (res.destroyed) return;
  const known = error instanceof Refusal;
  if (!known) console.error(error);
  const { status, body } = known
    ? error
    : new Refusal(500, String(error), { type: "server_error" });
  if (res.headersSent) res.end(`data: ${JSON.stringify(body)}\n\n`);
  else reply(res, status, body);
}

function reply(res, status, body) {
  // After a 413 the rest of the body is not read, so the connection cannot be reused.
  if (status === 413) res.setHeader("connection", "close");
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function readJson(req) {
  const tooLarge = new Refusal(413, "The body is larger than 10 MiB");
  if (Number(req.headers["content-length"]) > MAX_BODY) throw tooLarge;
  const chunks = [];
  let size = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > MAX_BODY) throw tooLarge;
    chunks.push(chunk);
  }
  try {
    const body = JSON.parse(Buffer.concat(chunks).toString());
    if (TYPES.object(body)) return body;
  } catch {}
  throw new Refusal(400, "The body is not a JSON object");
}

const TYPES = {
  array: Array.isArray,
  boolean: (value) => typeof value === "boolean",
  integer: Number.isInteger,
  number: Number.isFinite,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  string: (value) => typeof value === "string",
};

const oneOf = (options) =>
  `${options.length > 1 ? "one of " : ""}${options.map((one) => `'${one}'`).join(", ")}`;

/**
 * Validates a parameter of the request. `otherwise` is its default, which null selects too.
 * @param {unknown} value @param {string} param its path: `messages[1].content`
 * @param {{ type: string, min?: number, max?: number, options?: unknown[], otherwise?: unknown }} rule
 *   without `otherwise` it is required; `type` as in JSON Schema, several separated by ` | `
 */
export function take(value, param, { type, min, max, options, ...rest }) {
  const wrong = (message, code) => new Refusal(400, message, { param, code });
  if (value === undefined || value === null) {
    if ("otherwise" in rest) return rest.otherwise;
    throw wrong(`Missing required parameter: '${param}'.`, "missing_required_parameter");
  }
  if (!type.split(" | ").some((one) => TYPES[one](value)))
    throw wrong(`Invalid type for '${param}': expected ${type}.`, "invalid_type");
  const numeric = Number.isInteger(value) ? "integer" : "decimal";
  if (value < min)
    throw wrong(`Invalid '${param}': expected at least ${min}.`, `${numeric}_below_min_value`);
  if (value > max)
    throw wrong(`Invalid '${param}': expected at most ${max}.`, `${numeric}_above_max_value`);
  if (options && !options.includes(value))
    throw wrong(`Invalid '${param}': expected ${oneOf(options)}.`, "invalid_value");
  return value;
}
