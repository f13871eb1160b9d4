import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { becomeOnly } from "../../../runner/src/lib/only-process.ts";
import { recordedLog } from "../support/docker-box.ts";

const never = new AbortController().signal;

test("a runner waits for the process before it, and says so", async () => {
  const what = randomUUID();
  const log = recordedLog();
  const first = await becomeOnly(what, log, never);
  expect(log.lines).toEqual([]);
  const second = becomeOnly(what, log, never);
  const stop = new AbortController();
  const third = becomeOnly(what, log, stop.signal);
  stop.abort();
  expect(await third).toBeUndefined();
  expect(log.lines.join()).toMatch(/another process of this runner .*--name/);
  first?.release();
  (await second)?.release();
});

test("others need not wait", async () => {
  const turns = [randomUUID(), randomUUID()].map((what) => becomeOnly(what, recordedLog(), never));
  for (const turn of await Promise.all(turns)) turn?.release();
});
