/** Durable Objects that are reset at each write of calls by callers, runners and operators. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { withTimeout } from "../../../src/lib/timeout.ts";
import { claimResponse, type Job } from "../../../src/protocol/runner.ts";
import { waitingJob } from "../../domain/scheduling/samples.ts";
import { giveUp } from "../support/accounts.ts";
import { askedAgain } from "../support/asked-again.ts";
import { listBudgets, newBudget } from "../support/budgets.ts";
import { eventually } from "../support/eventually.ts";
import { storeFile } from "../support/files.ts";
import { registered, shown } from "../support/fleet.ts";
import { countRows, inAccount, keepUp, objectOf, rowOf } from "../support/objects.ts";
import { atEachWrite, expectFailures, goesOff, LONG } from "../support/one-at-a-time.ts";
import { type Due, ends, runs } from "../support/prediction-alarms.ts";
import { deliver, sweep } from "../support/queues.ts";
import { addressOf, freshPath } from "../support/receiver.ts";
import { methods, reached } from "../support/resets.ts";
import type { FakeRunner, SnapshotChanges } from "../support/runner.ts";
import { FRAME, WAIT } from "../support/short-runs.ts";
import { passes } from "../support/time.ts";
import { ledger, READY, settled } from "../support/webhooks.ts";
import { newWorld, operator, unique, type World } from "../support/world.ts";

interface Transition {
  act: () => Promise<unknown>;
  check: () => Promise<void>;
  /** Repeats what happens every minute besides. */
  repeat?: () => Promise<unknown>;
}

const POLL_MS = 150;
const RUN_MS = 700;

/** Repeats a call while it is answered 503. @returns the first other answer */
async function answered(ask: () => Promise<Response>): Promise<string> {
  let text = "";
  const statuses = await askedAgain(async () => {
    const response = await ask();
    text = await response.text();
    return response;
  });
  expect(statuses.at(-1)).toBeLessThan(500);
  return text;
}

const idIn = (text: string): string => JSON.parse(text).id;

/** Creates a prediction, which a runner then runs. */
function creating(world: World, headers?: Record<string, string>): Transition & { due: Due } {
  const due: Due = { id: "" };
  const body = { model: world.model, input: {} };
  return {
    due,
    async act() {
      due.id = idIn(await answered(() => world.client.post("/v1/predictions", body, headers)));
    },
    repeat: () => alarm(due),
    check: () => runs(world, due),
  };
}

const alarm = async ({ id }: Due) => {
  const object = (await objectOf(id)).id;
  return goesOff(() => env.PREDICTION.get(object));
};

const CONVERSATIONS = "/v1/vendora/conversations";

const conversationsOf = async ({ user_id }: World) =>
  (await inAccount<{ object_id: string }>(user_id, "SELECT object_id FROM conversations")).map(
    ({ object_id }) => object_id,
  );

const statusesOf = async ({ user_id }: World) =>
  (await inAccount<{ status: string }>(user_id, "SELECT status FROM predictions"))
    .map(({ status }) => status)
    .filter((status) => status !== "canceled");

/** Takes a job and runs it. A job that is not acknowledged is handed out again. */
async function work(runner: FakeRunner, run: (job: Job) => Promise<unknown>): Promise<void> {
  const response = await runner.poll({}, AbortSignal.timeout(POLL_MS));
  const [job] = claimResponse.parse(await response.json()).jobs;
  // The object may be another instance the second time, whose old socket stays silent.
  if (job) await withTimeout(run(job), RUN_MS).catch(() => run(job));
}

const tellStateOf = (runner: FakeRunner, changes: SnapshotChanges) =>
  runner.client.post("/v1/runner/state", {
    runner_id: runner.id,
    session: runner.session,
    pool: runner.pool,
    snapshot: runner.snapshot(changes),
  });

async function ended({ client, model }: World, webhook?: object): Promise<string> {
  const { id } = (await client.create({ model, input: {}, ...(webhook && { webhook }) })).body;
  await client.cancel(id);
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "canceled" }));
  return id;
}

const TRANSITIONS: Record<string, (world: World) => Promise<Transition>> = {
  create: async (world) => creating(world),
  /** The account cancels predictions whose ID no caller received, so that one runs. */
  async "create under a key"(world) {
    const { check, ...rest } = creating(world, { "idempotency-key": unique("key") });
    return {
      ...rest,
      async check() {
        await check();
        expect(await statusesOf(world)).toEqual(["succeeded"]);
      },
    };
  },
  async "a key that is taken"(world) {
    const headers = { "idempotency-key": unique("key") };
    const { check, due, ...rest } = creating(world, headers);
    await rest.act();
    const { id } = due;
    return {
      ...rest,
      async check() {
        expect(due.id).toBe(id);
        await check();
      },
    };
  },
  async "a conversation"(world) {
    let id = "";
    return {
      async act() {
        id = idIn(await answered(() => world.client.post(CONVERSATIONS, {})));
      },
      async check() {
        expect((await world.client.fetch(`${CONVERSATIONS}/${id}`)).status).toBe(200);
        expect(await conversationsOf(world)).toContain(id.slice("conv_".length));
      },
    };
  },
  async "a conversation that is deleted"(world) {
    const { id } = await (await world.client.post(CONVERSATIONS, {})).json<{ id: string }>();
    const path = `${CONVERSATIONS}/${id}`;
    return {
      act: () => answered(() => world.client.fetch(path, { method: "DELETE" })),
      async check() {
        expect((await world.client.fetch(path)).status).toBe(404);
        expect(await conversationsOf(world)).toEqual([]);
      },
    };
  },
  async "a job that is declined"(world) {
    const id = await world.waiting();
    const runner = await world.runner();
    const { handout } = await runner.take();
    const declined = [{ handout, reason: "no room" }];
    return {
      act: () => answered(() => tellStateOf(runner, { declined })),
      repeat: () => alarm({ id }),
      check: () => runs(world, { id }),
    };
  },
  async cancel(world) {
    const id = await world.waiting();
    return {
      act: () => answered(() => world.client.post(`/v1/predictions/${id}/cancel`, "")),
      check: () => ends("canceled")(world, { id }),
    };
  },
  async deletion(world) {
    const id = await ended(world);
    return {
      act: () => answered(() => world.client.fetch(`/v1/predictions/${id}`, { method: "DELETE" })),
      check: async () => expect(await rowOf(id)).toMatchObject({ data_removed: 1 }),
    };
  },
  async redelivery(world) {
    const id = await ended(world, { url: addressOf(freshPath()), events: ["completed"] });
    await passes(0, id);
    const [event] = await settled(world.client, id, "delivered");
    const path = `/v1/predictions/${id}/webhooks/${event?.id}/redeliver`;
    return {
      act: () => answered(() => world.client.post(path, {})),
      repeat: () => alarm({ id }),
      async check() {
        const [again] = await ledger(world.client, id);
        expect(again?.deliveries).toMatchObject([{ state: "delivered" }]);
        expect(again?.deliveries[0]?.attempts.length).toBeGreaterThan(1);
      },
    };
  },
  async "a run with a file"(world) {
    const due: Due = { id: await world.waiting() };
    const runner = await world.runner();
    return {
      act: () =>
        work(runner, async (job) => {
          const first = await runner.connect(job);
          await first.report([READY]);
          first.close();
          await first.closed;
          const url = await storeFile(runner, job, "file");
          await (await runner.connect(job)).succeed(url);
        }),
      repeat: () => alarm(due),
      check: () => runs(world, due),
    };
  },
  /** The caller waits while a runner reports the run in one frame. */
  async "a short run"(world) {
    const { act, due } = creating(world, WAIT);
    // The runner has three slots, because a job that died takes one for the 5 s in which a runner connects.
    const runner = await world.runner(3);
    const running = async () => {
      while (due.id === "")
        await work(runner, ({ lease }) => runner.report(lease, FRAME)).catch(() => {});
    };
    return {
      act: () => Promise.all([act(), running()]),
      repeat: () => alarm(due),
      check: () => runs(world, due),
    };
  },
  async "a message of the queue"({ user_id, hardware, image }) {
    const object_id = env.PREDICTION.newUniqueId().toString();
    const job = waitingJob({ object_id, user_id, hardware, image });
    return {
      act: () => deliver("dispatch", job),
      check: async () =>
        expect(await env.POOL.getByName(hardware).status()).toMatchObject({ waiting: 1 }),
    };
  },
  async "a drain"() {
    const { runner } = await registered();
    return {
      act: () => answered(() => operator.post(`/v1/operator/runners/${runner.id}/drain`, {})),
      check: async () => expect(await shown(runner.id)).toMatchObject({ draining: true }),
    };
  },
  async "the removal of a runner"() {
    const { runner } = await registered();
    await runner.tell({ state: "stopped" });
    const path = `/v1/operator/runners/${runner.id}`;
    return {
      act: () => answered(() => operator.fetch(path, { method: "DELETE" })),
      check: async () => expect(await shown(runner.id)).toBeUndefined(),
    };
  },
  async "the last telemetry of a runner"(world) {
    const runner = await world.runner();
    return {
      act: () => runner.tell({ state: "draining" }),
      check: async () => expect(await shown(runner.id)).toMatchObject({ state: "draining" }),
    };
  },
  async "a deployment that keeps a container running"(world) {
    const { client, model, hardware, user_id, username } = world;
    const grant = `/v1/operator/users/${username}/capacity/${hardware}`;
    await operator.ok("PUT", grant, { instances: 1 });
    // Only a pool with a runner is told.
    await (await world.runner()).tellState({ jobs: [], containers: [] });
    const name = unique("made");
    const request = { name, model, version: 1, min_instances: 1, max_instances: 1 };
    return {
      act: () => answered(() => client.post("/v1/deployments", request)),
      repeat: sweep,
      check: async () =>
        expect(await env.POOL.getByName(hardware).capacityStatuses(user_id)).toHaveLength(1),
    };
  },
  /** A request that is repeated finds the budget that it has set before. */
  async "a new budget"({ client }) {
    const request = { limit: "10", window: "day" };
    return {
      act: () => answered(() => client.post("/v1/budgets", request)),
      check: async () => expect(await listBudgets(client)).toMatchObject([request]),
    };
  },
  async "the end of a budget"({ client }) {
    const { id } = await newBudget(client, { limit: "10" });
    return {
      act: () => answered(() => client.fetch(`/v1/budgets/${id}`, { method: "DELETE" })),
      check: async () => expect(await listBudgets(client)).toEqual([]),
    };
  },
  async "the end of an account"(world) {
    await ended(world);
    await world.waiting();
    return {
      act: () => giveUp(world),
      repeat: sweep,
      async check() {
        await keepUp(world.user_id);
        expect(await countRows(world.user_id)).toBe(0);
      },
    };
  },
};

/** Methods that only read or write memory alone, and those of another test. */
const NOT_HERE = [
  ...["getUpTo", "history", "runFacts", "lastRun", "originalRequest", "getRow", "input"].map(
    (name) => `PredictionObject.${name}`,
  ),
  "PredictionObject.mayReadFile",
  "PredictionObject.webhookBody",
  // No caller waits for this method, and a lost report follows with the next change.
  "AccountObject.recordDeliveries",
  "AccountObject.listDeliveries",
  ...["find", "list", "runsOf", "succeededRuns", "unfinished", "unfinishedStarts"].map(
    (name) => `AccountObject.${name}`,
  ),
  ...["usage", "usageBy", "usageOfReleases", "usagePage", "copy", "isEmpty"].map(
    (name) => `AccountObject.${name}`,
  ),
  "AccountObject.wouldAdmit",
  "AccountObject.budgets",
  // test/worker/transient-errors/prediction-alarms.nightly.test.ts
  "AccountObject.extend",
  "AccountObject.fileBytes",
  "AccountObject.declareUpload",
  // A file that stays counted is counted until the data of its prediction is removed.
  "AccountObject.removeFile",
  "PoolObject.explain",
  "PoolObject.runEstimate",
  "PoolObject.waitOf",
  ...["capacityStatuses", "previewClaim", "gauges"].map((name) => `PoolObject.${name}`),
  ...["askForLog", "log", "takeLog"].map((name) => `PoolObject.${name}`),
  "PoolObject.holders",
  "PoolObject.reports",
  "PoolObject.offerSecond",
  "PoolObject.reportDismissed",
  "RunnerObject.history",
  // Callers do not wait for lines for operators.
  "RunnerObject.reportEvents",
  "RunnerObject.removeRun",
  // `webSocketError` does the same as `webSocketClose`.
  "PredictionObject.webSocketError",
  // `claim` begins with the same work as `keyHolder`.
  "AccountObject.keyHolder",
  // test/worker/backups/interruptions.nightly.test.ts
  "AccountObject.restore",
  // A charge that is lost or made twice lasts until the bucket has filled again, and rate limits are off here.
  "AccountObject.chargeWrites",
  "AccountObject.settleWrites",
  // The prediction dispatches the job through the queue if this fails, and the count of a runner's failures starts again.
  "PoolObject.startFailed",
];

expectFailures();

test.each(Object.entries(TRANSITIONS))(
  "the transition %s takes effect although objects are reset at each write",
  LONG,
  async (_, begin) => {
    const writes = await atEachWrite({
      async prepare() {
        const world = await newWorld();
        return { world, ...(await begin(world)) };
      },
      act: ({ act }) => act(),
      repeat: async ({ world, repeat }) => {
        await repeat?.();
        await keepUp(world.user_id);
      },
      check: ({ check }) => check(),
    });
    expect(writes).not.toEqual([]);
  },
);

test("the rows reach every method that writes", () => {
  expect(methods.filter((one) => !reached.has(one) && !NOT_HERE.includes(one))).toEqual([]);
  expect(methods).toEqual(expect.arrayContaining(NOT_HERE));
});
