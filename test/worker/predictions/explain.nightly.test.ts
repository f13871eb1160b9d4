/** Why a prediction waits: lost runners, declined jobs, and what an explanation costs. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { explain, forOperator, lineOf } from "../support/explanations.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

describe("the reason of a prediction", () => {
  test("a reason says that the runner was lost and the prediction waits again", async () => {
    const world = await newWorld();
    const { id } = await world.begun();
    await passes(31, id);
    await lineOf(world, 1);
    const shown = await explain(world.client, id);
    expect(shown).toMatchObject({
      status: "started",
      attempt: 2,
      history: [{ event: "lost", attempt: 1 }],
    });
    expect(shown.reason?.message).toMatch(
      /^The runner of attempt 1 was lost\. The prediction was requeued\./,
    );
  });

  test("a reason says that no runner is there after a full runner was lost, until it polls again", async () => {
    const world = await newWorld();
    timersFollowClock();
    const { id, job, runner } = await world.begun();
    await runner.tellState({ jobs: [job.handout] });
    const next = await world.waiting();
    await lineOf(world, 1);
    expect((await explain(world.client, next)).reason?.code).toBe("busy");
    await passes(31, id);
    await lineOf(world, 2);
    for (const one of [id, next])
      await eventually(async () =>
        expect((await explain(world.client, one)).reason?.code).toBe("no_runner"),
      );
    await runner.tellState({ jobs: [job.handout] });
    expect((await explain(world.client, next)).reason?.code).toBe("busy");
  });
});

describe("readers of an explanation", () => {
  test("operators read which runner has declined a prediction, and why", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    await lineOf(world, 1);
    const one = await world.runner();
    const job = await one.take();
    const declined = [{ handout: job.handout, reason: "GPU-7 is lost" }];
    await one.tellState({ free: 1, declined });
    await lineOf(world, 1);
    // A runner takes jobs for as long as it polls.
    const poll = new AbortController();
    one.poll({}, poll.signal).catch(() => {});
    await eventually(async () =>
      expect((await explain(world.client, id)).reason?.code).toBe("declined"),
    );
    const shown = await explain(world.client, id);
    expect(JSON.stringify(shown)).not.toContain("GPU-7");
    expect((await forOperator(world, id)).reason).toMatchObject({
      message: expect.stringMatching(/declined it: runner-\S+ \(GPU-7 is lost\)\./),
      runners: [{ id: one.id, reason: "GPU-7 is lost" }],
    });
    poll.abort();
  });
});

test("an explanation costs no more queries than reading the prediction does", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await lineOf(world, 1);
  await world.client.ok("GET", `/v1/predictions/${id}`);
  const prepare = vi.spyOn(env.DB, "prepare");
  await world.client.ok("GET", `/v1/predictions/${id}`);
  const reads = prepare.mock.calls.length;
  prepare.mockClear();
  await explain(world.client, id);
  expect(prepare.mock.calls.length).toBe(reads);
});
