import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Poller } from "../../../runner/src/control-plane/poller.ts";
import { ControlPlaneError } from "../../../runner/src/lib/error.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { jobOrder, silentLog } from "../support/samples.ts";

/** Returns a poller that makes one poll at a time, which the test answers. */
function setup(slots: number) {
  const polls: { signal: AbortSignal; answer: (jobs: Job[] | Error) => void }[] = [];
  const jobs: Job[] = [];
  const stop = new AbortController();
  const poller = new Poller({
    hasRoom: () => jobs.length < slots,
    claim: (signal) =>
      new Promise((resolve, reject) => {
        const answer = (given: Job[] | Error) =>
          given instanceof Error ? reject(given) : resolve(given);
        signal.addEventListener("abort", () => reject(signal.reason));
        polls.push({ signal, answer });
      }),
    onJob: (job) => jobs.push(job),
    log: silentLog,
    delays: { baseMs: 1, maxMs: 2 },
  });
  const run = poller.run(stop.signal);
  return { poller, polls, jobs, stop, run };
}

const poll = async <T>(polls: T[], count: number): Promise<T> => {
  await vi.waitFor(() => expect(polls.length).toBe(count), { interval: 1 });
  const last = polls.at(-1);
  if (!last) throw new Error("no poll");
  return last;
};

let it: ReturnType<typeof setup>;
beforeEach(() => {
  it = setup(3);
});
afterEach(async () => {
  it.stop.abort();
  await it.run;
});

test("a poller asks again at once after each answer while there is room", async () => {
  (await poll(it.polls, 1)).answer([jobOrder()]);
  (await poll(it.polls, 2)).answer([]);
  (await poll(it.polls, 3)).answer([jobOrder(), jobOrder()]);
  await vi.waitFor(() => expect(it.jobs.length).toBe(3));
  await new Promise((resolve) => setImmediate(resolve));
  expect(it.polls).toHaveLength(3);
});

test("a poller does not ask while there is no room, and does when there is again", async () => {
  (await poll(it.polls, 1)).answer([jobOrder(), jobOrder(), jobOrder()]);
  await vi.waitFor(() => expect(it.jobs.length).toBe(3));
  expect(it.polls.length).toBe(1);
  it.jobs.pop();
  it.poller.wake();
  await poll(it.polls, 2);
});

test("a poller leaves an open poll alone when a slot becomes free", async () => {
  (await poll(it.polls, 1)).answer([jobOrder()]);
  const open = await poll(it.polls, 2);
  it.jobs.pop();
  it.poller.wake();
  await new Promise((resolve) => setImmediate(resolve));
  expect([it.polls.length, open.signal.aborted]).toEqual([2, false]);
  open.answer([]);
  await poll(it.polls, 3);
});

test("a poller waits after errors", async () => {
  (await poll(it.polls, 1)).answer(new ControlPlaneError("away"));
  (await poll(it.polls, 2)).answer(new ControlPlaneError("trouble", { status: 503 }));
  (await poll(it.polls, 3)).answer(new ControlPlaneError("garbage", { status: 200 }));
  await poll(it.polls, 4);
});

test.each([401, 403, 404, 409])("HTTP %i ends the poller", async (status) => {
  const other = setup(1);
  (await poll(other.polls, 1)).answer(new ControlPlaneError("over", { status }));
  await expect(other.run).rejects.toMatchObject({ status });
});

test("a paused poller cuts the open poll and asks no more until it resumes", async () => {
  const open = await poll(it.polls, 1);
  it.poller.pause();
  expect(open.signal.aborted).toBe(true);
  it.poller.wake();
  await new Promise((resolve) => setImmediate(resolve));
  expect(it.polls.length).toBe(1);
  it.poller.resume();
  await poll(it.polls, 2);
});

test("the signal cuts the open poll", async () => {
  const open = await poll(it.polls, 1);
  it.stop.abort();
  await it.run;
  expect(open.signal.aborted).toBe(true);
});
