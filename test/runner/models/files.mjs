// A server that speaks just enough Cog to return files: the input's `steps` say how.

import { symlinkSync, utimesSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { PORT, HOST, DECLARES, ITERATOR, TMPDIR = "/tmp", WEBHOOK_AUTH_TOKEN: token } = process.env;
const url = process.env.AUSPEX_UPLOAD_URL;
const argv = process.argv.slice(2);
const running = new Set();
/** Callbacks by run, which are called on its cancel. */
const cancels = new Map();

const item = DECLARES ? { type: "string", format: "uri" } : {};
const schemas = {
  Output: ITERATOR
    ? {
        type: "array",
        "x-cog-array-type": "iterator",
        items: { $ref: "#/components/schemas/Item" },
      }
    : { $ref: "#/components/schemas/Item" },
  Item: item,
};

/** Resolves with status and headers, or with undefined when the connection broke. */
function send(address, { method, headers, body, cutAt }) {
  return new Promise((resolve) => {
    const request = http.request(address, { method, headers }, (response) => {
      response.resume().on("end", () => resolve(response));
    });
    request.on("error", () => resolve(undefined));
    if (cutAt === undefined) return request.end(body);
    request.write(body.subarray(0, cutAt), () => request.destroy());
  });
}

const report = (run) => {
  const { id, webhook, status, output, error, metrics } = run;
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const body = JSON.stringify({ id, status, output, error, metrics });
  return send(webhook, { method: "POST", headers, body });
};

/** Values that any run was given, as `$$name`, for later runs. */
const shared = { $argv: argv, $url: url };

/** Replaces names of returned files, such as `$name`, by their addresses. */
function named(value, names) {
  if (typeof value === "string") return names[value] ?? shared[value] ?? value;
  if (Array.isArray(value)) return value.map((part) => named(part, names));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, named(part, names)]));
}

const actions = {
  /** Uploads a file; `as` is the name of its address from now on. */
  async put(run, { name, text = "", size, type, as, cutAt, mine }) {
    const body = size === undefined ? Buffer.from(text) : Buffer.alloc(size, text);
    const headers = { "content-length": body.length };
    if (type) headers["content-type"] = type;
    if (mine) headers["x-prediction-id"] = run.id;
    const answer = await send(`${url}/${name}`, { method: "PUT", headers, body, cutAt });
    run.names[`$${as}`] = answer?.headers.location ?? null;
    shared[`$$${as}`] = answer?.headers.location;
    run.names[`$${as}.status`] = answer?.statusCode ?? null;
  },
  /** Adds a file inside of the output. */
  inline(run, { text, size, type, as }) {
    const content = Buffer.alloc(size, text).toString("base64");
    run.names[`$${as}`] = `data:${type};base64,${content}`;
  },
  /** Begins an upload that never ends; `cut` hangs up so many milliseconds later. */
  begin(_run, { name, cut }) {
    const headers = { "content-length": 1_000 };
    const request = http.request(`${url}/${name}`, { method: "PUT", headers });
    request.on("error", () => {});
    const { promise, resolve } = Promise.withResolvers();
    request.write("half", () => {
      resolve();
      if (cut !== undefined) setTimeout(() => request.destroy(), cut);
    });
    return promise;
  },
  /** Writes a file; `age` is the number of seconds since it was written. */
  write(run, { name, text = "", size, as, age }) {
    const path = join(TMPDIR, name);
    writeFileSync(path, size === undefined ? text : Buffer.alloc(size));
    const then = Date.now() / 1_000 - age;
    if (age !== undefined) utimesSync(path, then, then);
    run.names[`$${as}`] = pathToFileURL(path).href;
  },
  link(run, { name, target, as }) {
    const path = join(TMPDIR, name);
    symlinkSync(target, path);
    run.names[`$${as}`] = pathToFileURL(path).href;
  },
  /** Outputs a part of the output, or the whole of it. */
  async say(run, { value }) {
    const said = named(value, run.names);
    if (!ITERATOR) run.output = said;
    else {
      run.output = [...(run.output ?? []), said];
      await report(run);
    }
  },
  /** Joins parts; `as` is the name of the result from now on. */
  join(run, { parts, as }) {
    run.names[`$${as}`] = named(parts, run.names).join("");
  },
  /** Waits until a cancel of the run, which goes on all the same. */
  canceled(run) {
    const { promise, resolve } = Promise.withResolvers();
    cancels.set(run.id, resolve);
    return promise;
  },
  measure(run, { metrics }) {
    run.metrics = metrics;
  },
  fail(run, { message }) {
    run.error = message;
  },
  /** Waits until the other run reaches the same step. */
  meet(_run, { at }) {
    const { promise, resolve } = Promise.withResolvers();
    const waiting = meetings.get(at);
    meetings.set(at, resolve);
    if (!waiting) return promise;
    waiting();
  },
};
const meetings = new Map();

async function execute(run, steps) {
  for (const step of steps) {
    const [[action, options]] = Object.entries(step);
    await actions[action](run, options);
  }
  running.delete(run.id);
  run.status = run.error ? "failed" : "succeeded";
  await report(run);
}

http
  .createServer(async (request, response) => {
    const reply = (status, body) => response.writeHead(status).end(JSON.stringify(body));
    const [, , id, cancel] = request.url.split("/");
    if (request.url === "/health-check") {
      return reply(200, { status: running.size > 0 ? "BUSY" : "READY" });
    }
    if (request.url === "/openapi.json") return reply(200, { components: { schemas } });
    if (request.url === "/shutdown") process.exit(0);
    if (cancel) {
      cancels.get(id)?.();
      return reply(200, {});
    }
    const chunks = await request.toArray();
    const { input, webhook } = JSON.parse(Buffer.concat(chunks).toString());
    running.add(id);
    reply(202, { id, status: "starting" });
    const names = { $input: input.file };
    await execute({ id, webhook, status: "processing", names }, input.steps);
  })
  .listen(Number(PORT), HOST);
