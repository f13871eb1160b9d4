/** The variables with the rate limits match the bindings, which do not expose their numbers. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const NUMBERS = /^RATE_LIMIT_NUMBERS = \{ (.+) \}$/m;
const LIMIT = /^name = "RATE_LIMIT_(\w+)"\nnamespace_id = "\d+"\nsimple = \{ limit = (\d+),/gm;

test("the rate limits that answers state equal those of the bindings", async () => {
  const config = await readFile(new URL("../../../wrangler.toml", import.meta.url), "utf8");
  const limits = [...config.matchAll(LIMIT)].map(([, name = "", limit]) => [
    name.toLowerCase(),
    limit,
  ]);
  const told = (NUMBERS.exec(config)?.[1] ?? "").split(", ").map((one) => one.split(" = "));
  expect(told).toHaveLength(6);
  expect(limits).toEqual(expect.arrayContaining(told));
});
