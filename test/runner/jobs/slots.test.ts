import { expect, test, vi } from "vitest";
import { Slots } from "../../../runner/src/jobs/slots.ts";

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
