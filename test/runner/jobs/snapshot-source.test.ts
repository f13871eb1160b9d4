/** Snapshots: parts that are sent once, parts that are sent until the pool has received them, and limits. */
import { beforeEach, expect, test, vi } from "vitest";
import { Slots } from "../../../runner/src/jobs/slots.ts";
import { SnapshotSource } from "../../../runner/src/jobs/snapshot-source.ts";
import {
  type ContainerState,
  MAX_REPORTED,
  runnerSnapshot,
} from "../../../src/protocol/runner-state.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";

let containers: ContainerState[];
let source: SnapshotSource;

beforeEach(() => {
  containers = [];
  source = new SnapshotSource({
    slots: new Slots(2),
    executor: {
      state: () => ({ containers, devices: [], disks: {}, max_containers: 256 }),
      measured: () => [],
    },
  });
});

test("snapshot numbers rise, and the highest hand-out stays", () => {
  for (const handout of [3, 5, 4]) source.received(handout);
  expect([source.take(), source.take()]).toMatchObject([
    { number: 1, handed: 5, slots: 2 },
    { number: 2, handed: 5 },
  ]);
});

test("receipts and declined hand-outs are sent until the pool has received them", () => {
  source.connected("a");
  source.declined({ handout: 1, reason: "full" });
  const first = source.take();
  source.connected("b");
  expect(source.take()).toMatchObject({ receipts: ["a", "b"], declined: [{ handout: 1 }] });
  source.acknowledged(first);
  expect(source.take()).toMatchObject({ receipts: ["b"], declined: [] });
});

test("a snapshot has the latest containers when there are more than its limit", () => {
  containers = Array.from({ length: MAX_REPORTED + 2 }, (_, n) => readyContainer({ name: `${n}` }));
  const told = runnerSnapshot.parse(source.take());
  expect(told.containers).toHaveLength(MAX_REPORTED);
  expect(told.containers[0]?.name).toBe("2");
});

function fakeJob(id: string, handout = 0) {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    id,
    handout,
    run: () => promise,
    end: resolve,
    releaseUnstarted: vi.fn(),
    release: vi.fn(() => resolve()),
  };
}

test("slots keep count of the room, and notify when there is more", async () => {
  const jobs = new Slots(2);
  const onChange = vi.fn();
  jobs.onChange = onChange;
  const [a, b] = [fakeJob("a", 4), fakeJob("b", 7)];
  jobs.start(a);
  jobs.start(b);
  expect([jobs.free, jobs.ids, jobs.handouts]).toEqual([0, ["a", "b"], [4, 7]]);
  expect(onChange).toHaveBeenCalledTimes(2);
  onChange.mockClear();
  a.end();
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledOnce(), { interval: 1 });
  expect([jobs.free, jobs.ids]).toEqual([1, ["b"]]);
  b.end();
  await jobs.idle();
  expect(jobs.free).toBe(2);
});

test("slots that are leaving let running jobs go on and hand new ones back", async () => {
  const jobs = new Slots(2);
  const [early, late] = [fakeJob("early"), fakeJob("late")];
  jobs.start(early);
  jobs.drain("shutting down");
  jobs.start(late);
  expect(early.releaseUnstarted).toHaveBeenCalledExactlyOnceWith("shutting down");
  expect(early.release).not.toHaveBeenCalled();
  expect(late.release).toHaveBeenCalledExactlyOnceWith("shutting down");
  jobs.release("too long");
  expect(early.release).toHaveBeenCalledExactlyOnceWith("too long");
  await jobs.idle();
});
