import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Agent, type AgentOptions } from "../../runner/src/agent.ts";
import { ControlPlane } from "../../runner/src/control-plane/client.ts";
import type { Reservation } from "../../runner/src/jobs/executor.ts";
import { LogRing } from "../../runner/src/lib/log-ring.ts";
import { VERSION } from "../../runner/src/lib/version.ts";
import {
  claimRequest,
  type Job,
  sessionRequest,
  stateRequest,
  telemetryRequest,
} from "../../src/protocol/runner.ts";
import { type RunnerLogRequest, runnerLogRequest } from "../../src/protocol/runner-log.ts";
import type { RunnerSnapshot } from "../../src/protocol/runner-state.ts";
import { type Answer, FakeControlPlane, REPORTS } from "./support/fake-control-plane.ts";
import { fakeExecutor, jobOrder, settings, silentLog } from "./support/samples.ts";

const DONE = { status: "succeeded", output: "none" } as const;
const RUNNER_ID = "01990000-0000-7000-8000-aaaaaaaaaaaa";
const SESSION = "01990000-0000-7000-8000-bbbbbbbbbbbb";
const registered = { body: { runner_id: RUNNER_ID, session: SESSION, pool: "cpu", settings } };

let plane: FakeControlPlane;
let queue: Job[];
let states: string[];
let polls: number[];
let told: RunnerSnapshot[];
let claim: (free: number) => Answer | undefined;
/** Settles open polls at the end of a test, and wakes the poll that waits for a job. */
let wake: () => void;

beforeEach(async () => {
  plane = await FakeControlPlane.start();
  [queue, states, polls] = [[], [], []];
  claim = () => undefined;
  wake = () => {};
  plane.endpoints.set("/v1/runner/sessions", (body) => {
    sessionRequest.parse(body);
    return registered;
  });
  plane.endpoints.set("/v1/runner/telemetry", (body) => {
    states.push(telemetryRequest.parse(body).state);
    return { body: { draining: false } };
  });
  told = [];
  plane.endpoints.set("/v1/runner/state", (body) => {
    told.push(stateRequest.parse(body).snapshot);
    return { body: { wanted: false } };
  });
  plane.endpoints.set("/v1/runner/jobs/claim", async (body) => {
    const { slots, jobs } = claimRequest.parse(body).snapshot;
    const free = slots - jobs.length;
    polls.push(free);
    const answer = claim(free);
    if (answer) return answer;
    if (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return { body: { jobs: queue.splice(0, free) } };
  });
});

afterEach(() => plane.stop());

function agent(run: Reservation["run"], slots = 2, more: Partial<AgentOptions> = {}) {
  const [stop, kill] = [new AbortController(), new AbortController()];
  const reload = new AbortController();
  const it = new Agent({
    runner: { name: "box", hardware: ["cpu"], engine: "process", slots },
    machine: { cpus: 1, memory_gb: 1, gpus: [] },
    drainSeconds: 600,
    controlPlane: new ControlPlane({ url: plane.url, token: "ausr_x" }),
    executor: fakeExecutor(run),
    meter: { readings: new Map() },
    log: silentLog,
    ring: new LogRing(),
    reload: reload.signal,
    stop: stop.signal,
    kill: kill.signal,
    ...more,
  });
  return { run: it.run(), reload, stop, kill };
}

function give(): ReturnType<FakeControlPlane["prediction"]> {
  const order = jobOrder();
  const prediction = plane.prediction(order.lease);
  queue.push(order);
  wake();
  return prediction;
}

test("an agent runs its jobs and drains: running jobs finish, starting ones are handed back", async () => {
  const gate = Promise.withResolvers<void>();
  const runs: string[] = [];
  const it = agent(async ({ prediction_id }, reporter, { abandon }) => {
    const first = runs.push(prediction_id) === 1;
    if (first) {
      reporter.output("begun");
      await gate.promise;
      return DONE;
    }
    await new Promise((resolve) => abandon.addEventListener("abort", resolve));
    return { status: "canceled", output: "none" };
  });
  const running = give();
  await running.until(() => running.frames.length === 1);
  const starting = give();
  await starting.until(() => starting.frames.length === 1);
  it.stop.abort();
  await starting.until(() => starting.releases.length === 1);
  gate.resolve();
  await it.run;
  expect(running.finish?.status).toBe("succeeded");
  expect(polls.slice(0, 2)).toEqual([2, 1]);
  expect(states.at(-1)).toBe("stopped");
});

test("an agent that is killed ends its running jobs", async () => {
  const it = agent(async (_order, reporter, { abandon }) => {
    reporter.output("half");
    await new Promise((resolve) => abandon.addEventListener("abort", resolve));
    return { status: "canceled", output: "none" };
  });
  const prediction = give();
  await prediction.until(() => prediction.frames.length === 1);
  it.stop.abort();
  it.kill.abort();
  await it.run;
  expect(prediction.finish).toMatchObject({ status: "failed", error: { source: "internal" } });
});

test.each([
  [
    401,
    "the control plane rejected the runner token (create another under Fleet → Runner tokens): ",
  ],
  [
    403,
    "the runner token has no permission for this (check --hardware, or create another token): ",
  ],
  [409, "the control plane refused to register this runner: "],
  [426, "this runner's version does not match the deployment"],
])("HTTP %i at the registration ends the agent with a message", async (status, words) => {
  plane.endpoints.set("/v1/runner/sessions", () => ({ status }));
  await expect(agent(async () => DONE).run).rejects.toThrow(words);
});

test.each([
  ["9.9.9+1a2b3c4d", true],
  [`${VERSION}+1a2b3c4d`, false],
  [undefined, false],
])(
  "an agent whose deployment has the runner %s is advised to update: %s",
  async (latest_version, told) => {
    plane.endpoints.set("/v1/runner/sessions", () => ({
      body: { ...registered.body, ...(latest_version && { latest_version }) },
    }));
    const warn = vi.spyOn(silentLog, "warn");
    const it = agent(async () => DONE);
    await vi.waitFor(() => expect(polls).toHaveLength(1), { interval: 1 });
    it.stop.abort();
    await it.run;
    const update = expect.stringContaining(
      `npx --yes "${plane.url}/auspex-runner.tgz?v=9.9.9+1a2b3c4d"`,
    );
    expect(warn.mock.calls).toEqual(told ? [[update]] : []);
    vi.restoreAllMocks();
  },
);

test("an agent that another process supersedes finishes its work and ends", async () => {
  const gate = Promise.withResolvers<void>();
  const it = agent(async (_order, reporter) => {
    reporter.output("begun");
    await gate.promise;
    return DONE;
  });
  claim = () => (polls.length === 2 ? { status: 409 } : undefined);
  const prediction = give();
  await prediction.until(() => prediction.frames.length === 1);
  gate.resolve();
  await it.run;
  expect(prediction.finish?.status).toBe("succeeded");
});

test("an agent that is reloaded finishes its running jobs however long they take, and leaves idle containers", async () => {
  const gate = Promise.withResolvers<void>();
  const executor = fakeExecutor(async (_order, reporter) => {
    reporter.output("begun");
    await gate.promise;
    return DONE;
  });
  const close = vi.spyOn(executor, "close");
  const it = agent(async () => DONE, 1, { executor, drainSeconds: 0 });
  const running = give();
  await running.until(() => running.frames.length === 1);
  it.reload.abort();
  await vi.waitFor(() => expect(states.at(-1)).toBe("draining"), { interval: 1 });
  expect(close).not.toHaveBeenCalled();
  gate.resolve();
  await it.run;
  expect(running.finish?.status).toBe("succeeded");
  expect(states.at(-1)).toBe("stopped");
  expect(close).toHaveBeenCalledExactlyOnceWith({ leavesIdle: true });
});

test("an agent that is stopped after a reload leaves no containers", async () => {
  const executor = fakeExecutor(async () => DONE);
  const close = vi.spyOn(executor, "close");
  const it = agent(async () => DONE, 1, { executor });
  it.reload.abort();
  it.stop.abort();
  await it.run;
  expect(close).toHaveBeenCalledExactlyOnceWith({ leavesIdle: false });
});

test("an agent whose session is unknown registers again as the same process", async () => {
  // `Math.random` makes retries immediate: a delay is a random part of its bound.
  vi.spyOn(Math, "random").mockReturnValue(-0.99);
  const processes: (string | undefined)[] = [];
  const second = Promise.withResolvers<void>();
  plane.endpoints.set("/v1/runner/sessions", (body) => {
    if (processes.push(sessionRequest.parse(body).process) === 2) second.resolve();
    return registered;
  });
  claim = () => (processes.length === 1 ? { status: 404 } : undefined);
  const it = agent(async () => DONE);
  await second.promise;
  vi.restoreAllMocks();
  it.stop.abort();
  await it.run;
  // The registrations have the same process ID, so that none replaces the other, whichever arrives last.
  expect(processes).toEqual([expect.any(String), processes[0]]);
});

test("the receipt of a job comes with the next claim after its report", async () => {
  const heard: string[][] = [];
  const replies = [{ type: "ack", seq: 1, receipt: "r" }];
  plane.endpoints.set(REPORTS, () => ({ body: { replies } }));
  plane.endpoints.set("/v1/runner/jobs/claim", async (body) => {
    heard.push(claimRequest.parse(body).snapshot.receipts);
    // The second poll is refused, so the receipts that it had come again.
    if (heard.length === 2) return { status: 503 };
    if (heard.length === 4) await new Promise<void>((resolve) => (wake = resolve));
    return { body: { jobs: queue.splice(0, 1) } };
  });
  give();
  const it = agent(async () => DONE, 1);
  await vi.waitFor(() => expect(heard).toHaveLength(4), { interval: 1 });
  expect(heard).toEqual([[], ["r"], ["r"], []]);
  wake();
  it.stop.abort();
  await it.run;
});

test("a drain that the operator orders stops the polls until it is lifted", async () => {
  let draining = true;
  plane.endpoints.set("/v1/runner/sessions", () => ({
    body: { ...registered.body, settings: { ...settings, telemetry_seconds: 0.005 } },
  }));
  plane.endpoints.set("/v1/runner/telemetry", (body) => {
    states.push(telemetryRequest.parse(body).state);
    return { body: { draining } };
  });
  const it = agent(async () => DONE);
  await vi.waitFor(() => expect(states).toContain("draining"), { interval: 1 });
  const before = polls.length;
  draining = false;
  await vi.waitFor(() => expect(polls.length).toBe(before + 1), { interval: 1 });
  it.stop.abort();
  await it.run;
  expect(states.slice(0, 2)).toEqual(["ready", "draining"]);
});

test("an agent sends the last lines of its log when an answer asks for them, once at a time", async () => {
  const sent = Promise.withResolvers<RunnerLogRequest>();
  const taken = Promise.withResolvers<void>();
  let count = 0;
  plane.endpoints.set("/v1/runner/log", async (body) => {
    count += 1;
    sent.resolve(runnerLogRequest.parse(body));
    await taken.promise;
    return { body: {} };
  });
  let polled = 0;
  claim = () => (polled++ < 3 ? { body: { jobs: [], log: true } } : undefined);
  const ring = new LogRing();
  ring.add({ at: 1, level: "warn", text: "the disk is nearly full" });
  const { run, stop } = agent(async () => DONE, 2, { ring });
  const identity = { runner_id: RUNNER_ID, session: SESSION, pool: "cpu" };
  expect(await sent.promise).toEqual({ ...identity, lines: ring.lines });
  await vi.waitFor(() => expect(polled).toBeGreaterThan(3));
  expect(count).toBe(1);
  taken.resolve();
  stop.abort();
  await run;
});
