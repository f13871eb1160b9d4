import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { untilAborted } from "../../src/lib/timeout.ts";

const onUnhandledRejection = vi.fn();
beforeEach(() => void process.on("unhandledRejection", onUnhandledRejection));
afterEach(() => void process.off("unhandledRejection", onUnhandledRejection));

it.each([
  ["is aborted already", true],
  ["is aborted while it waits", false],
])("a wait that %s leaves no unhandled rejection", async (_, already) => {
  const [stop, late] = [new AbortController(), Promise.withResolvers<never>()];
  if (already) stop.abort("canceled");
  const waited = untilAborted(late.promise, stop.signal);
  stop.abort("canceled");
  await expect(waited).rejects.toBe("canceled");
  late.reject(new Error("too late"));
  // Node reports unhandled rejections once all pending callbacks have run.
  await setImmediate();
  expect(onUnhandledRejection).not.toHaveBeenCalled();
});
