// A server that speaks just enough Cog to misbehave: variables say how it starts, `mode` how it runs.

import http from "node:http";

const {
  PORT,
  HOST,
  SETUP,
  SETUP_LOGS = "no weights\n",
  ITERATOR,
  INPUTS = "",
  WEBHOOK_AUTH_TOKEN: token,
} = process.env;
const running = new Set();
let looks = 0;
let runs = 0;
/** The status of the server after its model has died with a run. */
let dead;

process.stdout.write("the liar is up\n");
if (SETUP === "exit") process.exit(3);

function health() {
  looks += 1;
  // Cog 0.16 and 0.22 report the status. 0.9.9 does not, and ends a moment later.
  if (dead && dead !== "READY") return { status: dead };
  if (SETUP === "fail") return { status: "SETUP_FAILED", setup: { logs: SETUP_LOGS } };
  if (SETUP === "endless" || (SETUP === "slow" && looks < 3)) {
    return { status: "STARTING", setup: { logs: "step\n".repeat(looks) } };
  }
  const concurrency = SETUP === "single" ? { max: 1, current: running.size } : undefined;
  return { status: running.size > 0 ? "BUSY" : "READY", setup: { logs: "" }, concurrency };
}

const Input = { properties: Object.fromEntries(INPUTS.split(",").map((name) => [name, {}])) };
const Output = ITERATOR ? { type: "array", "x-cog-array-type": "iterator" } : {};

/** Posts a report unchanged; resolves with the receiver's status, 0 when it hung up. */
function post(url, body, authorization = `Bearer ${token}`) {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/json", authorization };
    const request = http.request(url, { method: "POST", headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    request.on("error", () => resolve(0));
    request.end(typeof body === "string" ? body : JSON.stringify(body));
  });
}

const modes = {
  async wrongId(_id, url) {
    await post(url, { id: "another", status: "succeeded", output: "stolen" });
  },
  async garbage(_id, url) {
    await post(url, "<html>");
  },
  async nan(id, url) {
    const output = '[1, {"score": NaN}]';
    await post(url, `{"id":"${id}","status":"processing","output":${output}}`);
    running.delete(id);
    await post(url, `{"id":"${id}","status":"succeeded","output":${output}}`);
  },
  async deep(id, url) {
    await post(url, `{"id":"${id}","status":"succeeded","output":${"[".repeat(9_000_000)}`);
  },
  async many(id, url) {
    await post(url, `{"id":"${id}","status":"succeeded","output":[${"[],".repeat(3_000_000)}1]}`);
  },
  async huge(id, url) {
    await post(url, { id, status: "succeeded", output: "x".repeat(70_000_000) });
  },
  async silent(id) {
    running.delete(id);
  },
  async hang() {},
  async selfCanceled(id, url) {
    await post(url, { id, status: "canceled" });
  },
  async disorder(id, url) {
    await post(url, { id, status: "processing", output: ["a", "b"], logs: "one\ntwo\n" });
    await post(url, { id, status: "processing", output: ["a"], logs: "one\n" });
    const output = ["a", "b", "c"];
    const metrics = { predict_time: 0.5, note: "not a number" };
    await post(url, { id, status: "succeeded", output, logs: "one\ntwo\nthree\n", metrics });
    await post(url, { id, status: "failed", output: [...output, "d"], error: "too late" });
  },
  async impostor(id, url) {
    const report = { id, status: "succeeded", output: "forged" };
    const statuses = [await post(url, report, "Bearer wrong"), await post(`${url}x`, report)];
    await post(url, { id, status: "succeeded", output: statuses });
  },
  async crash() {
    process.stdout.write("segmentation fault\n");
    process.exit(139);
  },
  async die(id, url, { says, error = "Worker crashed" }) {
    running.delete(id);
    dead = says;
    await post(url, { id, status: "failed", error });
    if (says === "READY") setTimeout(() => process.exit(0), 60);
  },
  async fail(id, url) {
    running.delete(id);
    await post(url, { id, status: "failed", error: "no" });
  },
  /** Reports the trace that came with the request. */
  async trace(id, url, _input, { headers, context }) {
    running.delete(id);
    const { traceparent = null } = headers;
    await post(url, { id, status: "succeeded", output: { traceparent, context } });
  },
  async echo(id, url, output) {
    running.delete(id);
    await post(url, { id, status: "succeeded", output });
  },
  /** Reports that nothing runs while its report is on its way, for many looks. */
  async slow(id, url) {
    running.delete(id);
    const body = JSON.stringify({ id, status: "succeeded", output: "at last" });
    const headers = { "content-length": body.length, authorization: `Bearer ${token}` };
    const request = http.request(url, { method: "POST", headers });
    request.write(body.slice(0, 10));
    const enough = looks + 10;
    const clock = setInterval(() => {
      if (looks < enough) return;
      clearInterval(clock);
      request.end(body.slice(10));
    }, 5);
  },
  async pid(id, url) {
    running.delete(id);
    await post(url, { id, status: "succeeded", output: process.pid });
  },
  async environment(id, url) {
    running.delete(id);
    await post(url, { id, status: "succeeded", output: Object.keys(process.env).sort() });
  },
};

const refusals = {
  full: [409, { detail: "Already running a prediction" }],
  invalid: [422, { detail: [{ loc: ["body", "input", "name"], msg: "too long", type: "x" }] }],
  sync: [200, { status: "succeeded", output: "done" }],
  broken: [500, { error: "oops" }],
  locked: [401, { detail: "Invalid API key" }],
};

http
  .createServer(async (request, response) => {
    const reply = (status, body) => response.writeHead(status).end(JSON.stringify(body));
    const [, , id, cancel] = request.url.split("/");
    if (request.url === "/health-check") {
      if (SETUP === "old") return reply(404, {});
      if (SETUP === "locked") return reply(401, {});
      if (SETUP === "garbage") return reply(200, ["?"]);
      return reply(200, health());
    }
    if (request.url === "/openapi.json")
      return reply(200, { components: { schemas: { Input, Output } } });
    if (request.url === "/shutdown") process.exit(0);
    if (cancel) return reply(200, {});
    const chunks = await request.toArray();
    const { input, webhook, context = null } = JSON.parse(Buffer.concat(chunks).toString());
    runs += 1;
    if (input.mode === "hangUp") return request.socket.destroy();
    // `brokenOnce` fails in a container that has had other runs, so a new container takes the run.
    if (input.mode === "brokenOnce") {
      if (runs > 1) return reply(500, {});
      input.mode = "pid";
    }
    const refusal = refusals[input.mode];
    if (refusal) return reply(...refusal);
    if (dead && dead !== "READY") return reply(dead === "DEFUNCT" ? 500 : 409, {});
    running.add(id);
    reply(202, { id, status: "starting" });
    if (dead) return post(webhook, { id, status: "failed", error: "Invalid operation" });
    await modes[input.mode](id, webhook, input, { headers: request.headers, context });
  })
  .listen(Number(PORT), HOST);
