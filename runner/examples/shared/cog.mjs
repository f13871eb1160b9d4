// A model server in one file: the Cog HTTP API (as of 0.17) for models written for Node. It is the same
// in every example that uses it.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import { format } from "node:util";

const COG_VERSION = "0.17.0";
const MAX_BODY = 100 * 1024 * 1024;
const LOG_INTERVAL = Number(process.env.COG_THROTTLE_RESPONSE_INTERVAL ?? 0.5) * 1000;
const EVENTS = ["start", "output", "logs", "completed"];

/** Attributes `console.log` to a run when several are in progress. */
const current = new AsyncLocalStorage();

/**
 * @typedef {(...args: unknown[]) => void} Log
 * @typedef {{ signal: AbortSignal, log: Log, metric: (name: string, value: number) => void }} Context
 * @typedef {object} Model
 * @property {(context: { log: Log }) => unknown} [setup] runs once, before the first prediction
 * @property {(input: object, context: Context) => unknown} predict an async generator streams
 */

/**
 * Serves a model. `manifest` is the parsed auspex.json, which has the schemas.
 * @param {object} manifest
 * @param {Model} model
 */
export function serve(manifest, model) {
  const { input: Input, output: Output } = manifest.schemas.prediction;
  const wanted = process.env.COG_MAX_CONCURRENCY ?? manifest.configuration?.max_concurrency;
  const max = Number(wanted ?? 1);
  /** @type {Map<string, Run>} runs in progress; finished ones are forgotten, as in Cog */
  const runs = new Map();
  const setup = { status: "starting", started_at: new Date(), completed_at: null, logs: "", log };

  const discovery = {
    cog_version: COG_VERSION,
    openapi_url: "/openapi.json",
    healthcheck_url: "/health-check",
    shutdown_url: "/shutdown",
    predictions_url: "/predictions",
    predictions_idempotent_url: "/predictions/{prediction_id}",
    predictions_cancel_url: "/predictions/{prediction_id}/cancel",
  };
  const openapi = {
    openapi: "3.1.0",
    info: { title: manifest.name, description: manifest.description, version: "1" },
    paths: { "/predictions": { post: {} } },
    components: { schemas: { Input, Output } },
  };

  function health() {
    const ready = runs.size < max ? "READY" : "BUSY";
    const status = { starting: "STARTING", failed: "SETUP_FAILED", succeeded: ready }[setup.status];
    const concurrency = { max, current: runs.size };
    return { status, setup, concurrency, version: { cog: COG_VERSION, node: process.version } };
  }

  async function answer(req, res) {
    const path = req.url.split("?")[0];
    const [, id, cancel] = path.match(/^\/predictions\/([^/]+)(\/cancel)?$/) ?? [];
    const call = id ? `${req.method} {id}${cancel ?? ""}` : `${req.method} ${path}`;
    switch (call) {
      case "GET /":
        return reply(res, 200, discovery);
      case "GET /openapi.json":
        return reply(res, 200, openapi);
      case "GET /health-check":
        return reply(res, 200, health());
      case "POST /predictions":
      case "PUT {id}":
        return create(req, res, id);
      case "POST {id}/cancel":
        runs.get(id)?.abort.abort();
        return reply(res, runs.has(id) ? 200 : 404, {});
      case "POST /shutdown":
        res.on("finish", () => process.exit(0));
        return reply(res, 200, {});
      default:
        throw new Refusal(404, { detail: "Not Found" });
    }
  }

  async function create(req, res, urlId) {
    const body = await readJson(req);
    const id = urlId ?? body.id ?? randomUUID();
    const { webhook, webhook_events_filter: events = EVENTS } = body;
    const problems = [];
    if ((body.id ?? id) !== id) {
      const msg = "prediction ID must match the ID supplied in the URL";
      problems.push(problem(["body", "id"], msg));
    }
    if (webhook && !URL.canParse(webhook)) {
      problems.push(problem(["body", "webhook"], "must be a URL"));
    }
    const input = check(Input, body.input ?? {}, ["body", "input"], problems);
    if (problems.length > 0) throw new Refusal(422, { detail: problems });
    const known = runs.get(id);
    if (known) return reply(res, 202, { ...known.state(), input: known.input });
    if (setup.status !== "succeeded") throw new Refusal(503, "Setup has not finished yet");
    if (runs.size >= max) throw new Refusal(409, "At capacity - all prediction slots busy");

    const run = new Run(id, input, webhook && new Webhook(webhook, events, () => run.state()));
    const over = () => runs.delete(id);
    runs.set(id, run);
    if (req.headers.prefer === "respond-async") {
      reply(res, 202, { id, status: "starting" });
      return run.execute(model, over);
    }
    res.on("close", () => res.writableFinished || run.abort.abort());
    await run.execute(model, over);
    return reply(res, 200, run.state());
  }

  async function prepare() {
    try {
      await current.run(setup, async () => model.setup?.({ log: log.bind(setup) }));
      setup.status = "succeeded";
    } catch (error) {
      setup.log(error);
      setup.status = "failed";
    }
    setup.completed_at = new Date();
  }

  for (const level of ["debug", "error", "info", "log", "warn"]) {
    console[level] = (...args) => (current.getStore() ?? { log }).log(...args);
  }
  // Node ignores these signals by default when it is process 1 of a container.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));

  const refuse = (res, error) =>
    reply(res, error.status ?? 500, error.body ?? { error: String(error), status: "failed" });
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (req, res) =>
    answer(req, res).catch((error) => refuse(res, error)),
  );
  server.listen(Number(process.env.PORT ?? 5000), process.env.HOST ?? "0.0.0.0", () => {
    const { address, port } = server.address();
    process.stdout.write(`listening on http://${address}:${port}\n`);
    void prepare();
  });
}

/** One prediction. Only its methods change its state. */
class Run {
  status = "starting";
  logs = "";
  metrics = {};
  abort = new AbortController();

  constructor(id, input, webhook) {
    this.id = id;
    this.input = input;
    this.webhook = webhook;
  }

  state() {
    const { id, status, output, error, logs, metrics } = this;
    return { id, status, output, error, logs, metrics };
  }

  log(...args) {
    log.apply(this, args);
    this.webhook?.tell("logs");
  }

  async execute(model, over) {
    const started = performance.now();
    this.status = "processing";
    this.webhook?.tell("start");
    try {
      await current.run(this, () => this.#predict(model));
      this.status = "succeeded";
    } catch (error) {
      this.status = "failed";
      this.error = error instanceof Error ? error.message : String(error);
      if (!this.abort.signal.aborted) this.log(error);
    }
    if (this.abort.signal.aborted) {
      this.status = "canceled";
      this.error = undefined;
    }
    this.metrics.predict_time = (performance.now() - started) / 1000;
    over();
    void this.webhook?.finish();
  }

  async #predict(model) {
    const { signal } = this.abort;
    const metric = (name, value) => Object.assign(this.metrics, { [name]: value });
    const result = model.predict(this.input, { signal, metric, log: this.log.bind(this) });
    if (!result?.[Symbol.asyncIterator]) {
      this.output = await plain(await result, this);
      return;
    }
    this.output = [];
    for await (const item of result) {
      this.output.push(await plain(item, this));
      this.webhook?.tell("output");
      // A generator that never awaits would block incoming cancels and outgoing webhooks.
      await breathe();
      if (signal.aborted) return;
    }
  }
}

/** Sends the webhooks of one run, one at a time. Changes made meanwhile go with the next. */
class Webhook {
  #news = new Set();
  #last = Number.NEGATIVE_INFINITY;
  #sending = false;
  #over = false;
  #timer;

  constructor(url, events, state) {
    this.url = url;
    this.events = events;
    this.state = state;
  }

  tell(event) {
    if (!this.events.includes(event)) return;
    this.#news.add(event);
    // A run that ends at once needs no `start`.
    if (event === "start") setImmediate(() => this.#send());
    else this.#send();
  }

  #send() {
    clearTimeout(this.#timer);
    if (this.#sending || this.#over || this.#news.size === 0) return;
    const onlyLogs = this.#news.size === 1 && this.#news.has("logs");
    const wait = onlyLogs ? this.#last + LOG_INTERVAL - performance.now() : 0;
    if (wait > 0) {
      this.#timer = setTimeout(() => this.#send(), wait);
      return;
    }
    this.#news.clear();
    this.#last = performance.now();
    this.#sending = true;
    // A failed webhook is not retried: the next one contains the same and more.
    const next = () => {
      this.#sending = false;
      this.#send();
    };
    post(this.url, this.state()).then(next, next);
  }

  /** Does not wait for a webhook in progress: receivers keep the terminal state once they have it. */
  async finish() {
    clearTimeout(this.#timer);
    this.#over = true;
    if (!this.events.includes("completed")) return;
    for (let tries = 0; tries < 12; tries++) {
      if (tries > 0) await sleep(Math.min(200 * 2 ** (tries - 1), 30_000));
      const status = await post(this.url, this.state()).catch(() => 503);
      if (![429, 500, 502, 503, 504].includes(status)) return;
    }
  }
}

/** @returns {Promise<number>} the status; Node's default agent keeps the connection open */
function post(url, body) {
  const token = process.env.WEBHOOK_AUTH_TOKEN;
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const { request } = url.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    const req = request(url, { method: "POST", headers, timeout: 30_000 }, (res) => {
      res.resume().on("close", () => resolve(res.statusCode));
    });
    req.on("timeout", () => req.destroy(new Error("The webhook timed out")));
    req.on("error", reject);
    req.end(JSON.stringify(body));
  });
}

class Refusal extends Error {
  constructor(status, body) {
    super();
    this.status = status;
    this.body = typeof body === "string" ? { error: body, status: "failed" } : body;
  }
}

function reply(res, status, body) {
  // After a 413 the rest of the body is not read, so the connection cannot be reused.
  if (status === 413) res.setHeader("connection", "close");
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function readJson(req) {
  const tooLarge = new Refusal(413, "The body is larger than 100 MiB");
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
  null: (value) => value === null,
  number: Number.isFinite,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  string: (value) => typeof value === "string",
};

/** The supported JSON Schema keywords. A comparison with NaN or undefined is no violation. */
const KEYWORDS = {
  type: (value, types) => [types].flat().some((type) => TYPES[type](value)),
  enum: (value, options) => options.includes(value),
  minimum: (value, least) => !(value < least),
  maximum: (value, most) => !(value > most),
  minLength: (value, least) => !(value.length < least),
  maxLength: (value, most) => !(value.length > most),
  pattern: (value, pattern) => new RegExp(pattern, "u").test(value),
  minItems: (value, least) => !(value.length < least),
  maxItems: (value, most) => !(value.length > most),
};

/** Adds violations to `problems`; returns the value with defaults filled in. */
function check(schema, value, loc, problems) {
  for (const [keyword, rule] of Object.entries(schema)) {
    // The other keywords do not apply to an allowed null.
    if (value === null && keyword !== "type" && keyword !== "enum") continue;
    if (KEYWORDS[keyword]?.(value, rule) === false) {
      problems.push(problem(loc, `does not match ${keyword} ${JSON.stringify(rule)}`));
      return value;
    }
  }
  if (schema.items && Array.isArray(value)) {
    return value.map((item, index) => check(schema.items, item, [...loc, index], problems));
  }
  if (!schema.properties || !TYPES.object(value)) return value;
  // Unknown inputs are dropped, as in Cog.
  const named = {};
  for (const [name, part] of Object.entries(schema.properties)) {
    const given = value[name] === undefined ? part.default : value[name];
    const missing = given === undefined && schema.required?.includes(name);
    if (missing) problems.push(problem([...loc, name], "Field required"));
    if (given !== undefined) named[name] = check(part, given, [...loc, name], problems);
  }
  return named;
}

function problem(loc, msg) {
  return { loc, msg, type: "value_error" };
}

/** Adds a line to the logs of `this` run, and to the log of the process or container. */
function log(...args) {
  const line = `${format(...args)}\n`;
  if (this?.logs !== undefined) this.logs += line;
  process.stdout.write(line);
}

/**
 * Converts an output to JSON. A value that JSON cannot represent fails the run here, before its
 * webhooks. Each `File` in it becomes a URL, in order.
 */
async function plain(value, run) {
  const files = new Map();
  const text = JSON.stringify(value ?? null, (_, part) => {
    if (!(part instanceof File)) return part;
    files.set(part, undefined);
    return null;
  });
  if (files.size === 0) return JSON.parse(text);
  for (const file of files.keys()) files.set(file, await addressOf(file, run));
  return JSON.parse(JSON.stringify(value, (_, part) => files.get(part) ?? part));
}

/** Uploads the file to AUSPEX_UPLOAD_URL; without that, the file becomes a data URI. */
async function addressOf(file, { id, abort: { signal } }) {
  const type = file.type || "application/octet-stream";
  const base = process.env.AUSPEX_UPLOAD_URL;
  if (!base)
    return `data:${type};base64,${Buffer.from(await file.arrayBuffer()).toString("base64")}`;
  const headers = { "content-type": type, "x-prediction-id": id };
  const url = `${base}/${encodeURIComponent(file.name)}`;
  const answer = await fetch(url, { method: "PUT", headers, body: file, signal });
  const location = answer.headers.get("location");
  if (!answer.ok || !location)
    throw new Error(`Uploading ${file.name} failed with ${answer.status}`);
  return location.split("?")[0];
}
