/** The log: errors are complete enough to be found, and have no secret. */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { v7 as uuid } from "uuid";
import { afterEach, describe, expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import { logger } from "../../../src/log.ts";
import { database } from "../../../src/storage/database.ts";
import { captureLog } from "../support/log.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

afterEach(() => void vi.restoreAllMocks());

/** A failed statement with a secret among its values, like one that stores a webhook endpoint. */
async function failure(): Promise<Error> {
  const inserting = database(env.DB).run(sql`INSERT INTO no_such_table VALUES (${SECRET})`);
  const error: unknown = await inserting.then(undefined, (reason) => reason);
  if (!(error instanceof Error)) throw new Error("it has not failed");
  expect(error.message).toContain(SECRET);
  return error;
}

test("an entry is one JSON object with its level, message and ids", () => {
  const log = captureLog("warn");
  logger.warn("Out of paper", { request_id: "r", prediction_id: "p" });
  expect(log.mock.calls).toEqual([
    ['{"level":"warn","message":"Out of paper","request_id":"r","prediction_id":"p"}'],
  ]);
});

const line = (id: string) => ({ prediction_id: id });

describe("a log line for a share of the predictions", () => {
  const ids = Array.from({ length: 4_000 }, () => uuid());
  const logged = (share: number) => {
    const log = captureLog("info");
    for (const id of ids) logger.info(share, "Ended", line(id));
    const found = log.entries().map(({ prediction_id }) => prediction_id);
    log.mockRestore();
    return found;
  };

  test("a log line is written for all, for none, or for about as many", () => {
    expect(logged(1)).toEqual(ids);
    expect(logged(0)).toEqual([]);
    // The expected number is 400 of 4,000, with a deviation of 19: the bounds hold in all but one of a
    // billion runs.
    const { length } = logged(0.1);
    expect(length).toBeGreaterThan(280);
    expect(length).toBeLessThan(520);
  });

  test("a log line is written for one prediction always or never, and a larger share includes a smaller one", () => {
    const few = logged(0.1);
    expect(logged(0.1)).toEqual(few);
    expect(logged(0.5)).toEqual(expect.arrayContaining(few));
  });
});

test("the share of logged predictions is a number from 0 to 1", () => {
  const shareOf = (value: string) =>
    settings(Object.assign({}, env, { LOG_SAMPLE_RATE: value })).logSampleRate;
  expect(["0", "0.25", "1"].map(shareOf)).toEqual([0, 0.25, 1]);
  for (const value of ["-0.1", "1.1", "all"])
    expect(() => shareOf(value)).toThrow("LOG_SAMPLE_RATE");
});

test("a failed statement is logged without its values", async () => {
  const log = captureLog("error");
  logger.error("Failed", { error: await failure() });
  expect(log.mock.calls.flat().join()).not.toContain(SECRET);
  const [entry] = log.entries();
  expect(entry?.error).toMatch(/INSERT INTO no_such_table.*no such table/s);
  expect(entry?.error).toMatch(/\n {4}at /);
});

test("a failed statement that caused another error is logged without its values", async () => {
  const log = captureLog("error");
  logger.error("Failed", { error: new Error("Not registered", { cause: await failure() }) });
  expect(log.mock.calls.flat().join()).not.toContain(SECRET);
  expect(log.entries()[0]?.error).toMatch(/Not registered.*INSERT INTO no_such_table/s);
});

test("any other error is logged whole, with its cause", () => {
  const log = captureLog("error");
  const error = new Error("out of paper", { cause: "nobody has bought any" });
  logger.error("Failed", { error });
  expect(log.entries()).toEqual([
    {
      level: "error",
      message: "Failed",
      error: expect.stringMatching(
        /^Error: out of paper\n {4}at .*\nCaused by: nobody has bought any$/s,
      ),
    },
  ]);
});
