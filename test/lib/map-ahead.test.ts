import { expect, test } from "vitest";
import { mapAhead } from "../../src/lib/streams.ts";

/** Returns work that ends when the test says so. */
function workshop() {
  const begun: PromiseWithResolvers<string>[] = [];
  const work = () => {
    const one = Promise.withResolvers<string>();
    begun.push(one);
    return one.promise;
  };
  return { begun, work };
}

test("results come in the order of the items, whichever is ready first", async () => {
  const { begun, work } = workshop();
  const results = mapAhead([1, 2, 3], 3, work);
  const first = results.next();
  begun[2]?.resolve("c");
  begun[1]?.resolve("b");
  begun[0]?.resolve("a");
  expect(await first).toEqual({ value: "a", done: false });
  const rest: string[] = [];
  for await (const result of results) rest.push(result);
  expect(rest).toEqual(["b", "c"]);
});

test("work begins when its result is read, with a limited number ahead", async () => {
  const { begun, work } = workshop();
  const results = mapAhead([1, 2, 3, 4, 5], 2, work);
  expect(begun.length).toBe(0);
  for (let taken = 1; taken <= 5; taken++) {
    const next = results.next();
    begun[taken - 1]?.resolve(`${taken}`);
    expect((await next).value).toBe(`${taken}`);
    expect(begun.length).toBe(Math.min(taken + 1, 5));
  }
  expect((await results.next()).done).toBe(true);
});

test("a reader that leaves begins no more work, and begun work may fail", async () => {
  const { begun, work } = workshop();
  const results = mapAhead([1, 2, 3, 4], 2, work);
  const next = results.next();
  begun[0]?.resolve("a");
  await next;
  begun[1]?.reject(new Error("too late"));
  await results.return(undefined);
  expect(begun.length).toBe(2);
});

test("a failure is thrown to the reader at its turn", async () => {
  const failing = mapAhead(["a", "b"], 5, async (item) => {
    if (item === "b") throw new Error("b failed");
    return item;
  });
  expect((await failing.next()).value).toBe("a");
  await expect(failing.next()).rejects.toThrow("b failed");
});
