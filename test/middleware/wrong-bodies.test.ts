/** Costs of wrong bodies: zod makes few issues, however many values are wrong. */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import "../../src/domain/schemas/zod-issues.ts";

const FOLDER = new URL("../../src/protocol/", import.meta.url);
const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" });
const modules = await Promise.all(
  files
    .filter((file) => file.endsWith(".ts"))
    .map(
      async (file): Promise<[string, object]> => [file, await import(new URL(file, FOLDER).href)],
    ),
);

/** Every schema of a wire shape, and every schema within it, with the first name that leads there. */
const schemas = new Map<z.core.$ZodType, string>();
for (const [file, exported] of modules)
  for (const [name, value] of Object.entries(exported))
    if (value instanceof z.ZodType)
      z.toJSONSchema(value, {
        io: "input",
        unrepresentable: "any",
        override: ({ zodSchema, path }) => {
          if (!schemas.has(zodSchema)) schemas.set(zodSchema, [file, name, ...path].join(" "));
        },
      });

const VALUES = 5_000;
const list = Array.from({ length: VALUES }, () => Symbol());
const byName = Object.fromEntries(list.map((one, n) => [`k${n}`, one]));

const countOf = (issues: z.core.$ZodIssue[]): number =>
  issues.reduce((sum, issue) => {
    if (issue.code === "invalid_union") return sum + 1 + countOf(issue.errors.flat());
    return sum + 1 + (issue.code === "invalid_key" ? countOf(issue.issues) : 0);
  }, 0);

// Routes parse with `safeParseAsync`, which takes another path through zod.
test("no schema of the protocol makes more than 200 issues of 5,000 wrong values", async () => {
  expect(schemas.size).toBeGreaterThan(500);
  const many: string[] = [];
  for (const [schema, name] of schemas)
    for (const value of [list, byName]) {
      const { error } = await z.safeParseAsync(schema, value);
      const count = countOf(error?.issues ?? []);
      if (count > 200) many.push(`${name}: ${count}`);
    }
  expect(many).toEqual([]);
});
