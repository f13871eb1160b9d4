/** What is logged of an error: enough to find it, and nobody's secret. */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { errorText, traceOf } from "../../../src/log.ts";
import { database } from "../../../src/storage/database.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** A statement that fails, with a secret among its values, as of an endpoint of webhooks. */
async function failure(): Promise<Error> {
  const inserting = database(env.DB).run(sql`INSERT INTO no_such_table VALUES (${SECRET})`);
  const error: unknown = await inserting.then(undefined, (reason) => reason);
  if (!(error instanceof Error)) throw new Error("it has not failed");
  expect(error.message).toContain(SECRET);
  return error;
}

test("a statement that has failed is logged without its values", async () => {
  const error = await failure();
  for (const logged of [errorText(error), JSON.stringify(traceOf(error))]) {
    expect(logged).not.toContain(SECRET);
    expect(logged).toMatch(/INSERT INTO no_such_table.*no such table/s);
  }
  expect(traceOf(error).error).toMatch(/\n {4}at /);
});

test("one within another is, too", async () => {
  const outer = new Error("It could not be registered.", { cause: await failure() });
  expect(JSON.stringify(traceOf(outer))).not.toContain(SECRET);
});

test("any other is logged as it is", () => {
  const error = new Error("out of paper", { cause: "nobody has bought any" });
  expect(errorText(error)).toBe("Error: out of paper");
  expect(traceOf(error).error).toMatch(/^Error: out of paper\n {4}at /);
  expect(traceOf(error).cause).toBe("nobody has bought any");
});
