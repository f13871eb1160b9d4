/** Caches of an isolate: how long they keep values, and how many. */
import { afterEach, expect, test } from "vitest";
import { cached } from "../../../src/storage/cache.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

afterEach(startClock);

/** A loader that answers when `answer` is called, with the value of the moment it was asked. */
function slowly() {
  const shelf = { value: "old" };
  const answers: (() => void)[] = [];
  const load = () => {
    const { value } = shelf;
    return new Promise<{ value: string }>((resolve) => answers.push(() => resolve({ value })));
  };
  return { shelf, load, answer: () => answers.splice(0).forEach((now) => void now()) };
}

test("a value is loaded once, and again after 10 s", async () => {
  stopClock();
  let loads = 0;
  const cache = cached({ max: 10 }, async () => ({ load: ++loads }));
  expect([await cache.get(null, "a"), await cache.get(null, "a")]).toEqual([
    { load: 1 },
    { load: 1 },
  ]);
  advance(10.1);
  expect(await cache.get(null, "a")).toEqual({ load: 2 });
});

test.each(["forget", "forgetAll"] as const)(
  "a call of %s also covers a value that is being loaded",
  async (how) => {
    const { shelf, load, answer } = slowly();
    const cache = cached({ max: 10 }, load);
    const before = cache.get(null, "a");
    shelf.value = "new";
    cache[how]("a");
    answer();
    expect(await before).toEqual({ value: "old" });
    const after = cache.get(null, "a");
    answer();
    expect(await after).toEqual({ value: "new" });
  },
);

test("a cache of large values keeps as many as its size allows", async () => {
  const loads: string[] = [];
  const cache = cached({ max: 10, sized: { max: 100, of: () => 40 } }, async (_, key: string) => {
    loads.push(key);
    return { key };
  });
  for (const key of ["a", "b", "c", "c", "b", "a"]) await cache.get(null, key);
  expect(loads).toEqual(["a", "b", "c", "a"]);
});
