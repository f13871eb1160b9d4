/** The scan of JSON that comes in pieces, compared with JSON.parse of the whole. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exceededBound, isDeeper, JsonScan } from "../../src/lib/json-scan.ts";

const NONE = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };
const bytesOf = (text: string) => new TextEncoder().encode(text);

const valuesIn = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, below) => sum + valuesIn(below), 1)
    : 1;

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
    : 0;

/** JSON with quotes, backslashes and brackets in texts and names, and with spaces anywhere. */
const anyJson = fc
  .tuple(
    fc.jsonValue({ maxDepth: 6, stringUnit: fc.constantFrom(...'a\\"[]{},: \nä🐈') }),
    fc.constantFrom(undefined, 1, "\t"),
  )
  .map(([value, indent]) => JSON.stringify(value, null, indent));

describe("the pass over JSON", () => {
  test("the scan counts like JSON.parse does, wherever the text is split", () => {
    fc.assert(
      fc.property(anyJson, (text) => {
        const value: unknown = JSON.parse(text);
        const bytes = bytesOf(text);
        const depth = depthOf(value);
        const count = valuesIn(value);
        for (let split = 0; split <= bytes.length; split++) {
          const scan = new JsonScan({ ...NONE, depth });
          const passed = [scan.feed(bytes.subarray(0, split)), scan.feed(bytes.subarray(split))];
          // A call of `expect` takes longer than the scan.
          if (passed.some((bound) => bound !== undefined) || scan.values !== count)
            expect([split, passed, scan.values]).toEqual([split, [undefined, undefined], count]);
        }
        const isTree = depth > 0;
        expect(exceededBound(text, { ...NONE, depth: depth - 1 })).toBe(
          isTree ? "depth" : undefined,
        );
        expect([isDeeper(value, depth), isTree && isDeeper(value, depth - 1)]).toEqual([
          false,
          isTree,
        ]);
        const values = valuesIn(value);
        if (values > 1) expect(exceededBound(text, { ...NONE, values: values - 1 })).toBe("values");
      }),
    );
  });

  test("the scan has the same result byte by byte", () => {
    fc.assert(
      fc.property(anyJson, (text) => {
        const scan = new JsonScan(NONE);
        for (const byte of bytesOf(text)) scan.feed(Uint8Array.of(byte));
        expect(scan.values).toBe(valuesIn(JSON.parse(text)));
      }),
    );
  });

  const bounds = { depth: 128, values: 500_000 };

  test.each([
    ["[".repeat(10_000_000), "depth"],
    ['{"a":'.repeat(2_000_000), "depth"],
    ["]".repeat(1_000) + "[".repeat(1_129), "depth"],
    [`[${"[],".repeat(3_000_000)}`, "values"],
    [`[${"{},".repeat(3_000_000)}`, "values"],
    [`[${"1,".repeat(5_000_000)}`, "values"],
    [`{${'"a":1,'.repeat(1_000_000)}`, "values"],
    [`["${String.raw`\\\"`.repeat(100)}",${"1,".repeat(5_000_000)}`, "values"],
  ])("the text %.20s… exceeds a bound, which is noticed at once", (text, bound) => {
    expect(exceededBound(text, bounds)).toBe(bound);
  });

  test.each([
    "[".repeat(128) + "]".repeat(128),
    `[${"1,".repeat(499_998)}1]`,
    JSON.stringify(`${"[[],[],".repeat(1_000_000)}`),
    JSON.stringify(`data:image/png;base64,${"A".repeat(9_000_000)}`),
    `"${"\\\\".repeat(4_000_000)}"`,
  ])("the text %.20s… exceeds no bound", (text) => {
    expect(exceededBound(text, bounds)).toBeUndefined();
  });
});
