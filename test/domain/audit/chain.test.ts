/** The chain of an audit log, and the fields of a change. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CHAIN_START,
  type ChainPlace,
  following,
  isSigned,
  sign,
} from "../../../src/domain/audit/chain.ts";
import { changedFields, type EntryRow } from "../../../src/domain/audit/entry.ts";

const text = fc.string({ unit: "binary", maxLength: 12 });

const entry: fc.Arbitrary<EntryRow> = fc.record({
  id: text,
  account_id: text,
  action: fc.constantFrom("model.updated", "token.created"),
  actor_type: fc.constantFrom("user", "operator"),
  actor_id: text,
  actor_name: text,
  targets: text,
  context: text,
  changes: fc.option(text),
  occurred_at: fc.nat(),
});

const endOf = (rows: EntryRow[]): ChainPlace => rows.reduce(following, CHAIN_START);

test("a chain ends elsewhere if any field of any entry is changed", () => {
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 5 }),
      fc.nat(),
      entry,
      (rows, at, other) => {
        const n = at % rows.length;
        for (const field of Object.keys(other) as (keyof EntryRow)[]) {
          const row = rows[n];
          if (!row || row[field] === other[field]) continue;
          const changed = rows.with(n, { ...row, [field]: other[field] });
          expect(endOf(changed).hash).not.toBe(endOf(rows).hash);
        }
      },
    ),
  );
});

test("a chain ends elsewhere if an entry is removed, added or moved", () => {
  fc.assert(
    fc.property(fc.array(entry, { minLength: 2, maxLength: 5 }), entry, (rows, added) => {
      const [first, second, ...rest] = rows;
      if (!first || !second) return;
      const { hash } = endOf(rows);
      expect(endOf(rows.slice(1)).hash).not.toBe(hash);
      expect(endOf([...rows, added]).hash).not.toBe(hash);
      if (JSON.stringify(first) !== JSON.stringify(second))
        expect(endOf([second, first, ...rest]).hash).not.toBe(hash);
    }),
  );
});

test("a signature is valid for its chain, its place and its key alone", () => {
  const [key, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const place = { sequence: 3, hash: "ab" };
  const signed = { ...place, signature: sign(key, "ada", "head", place) };
  expect(isSigned([other, key], "ada", "head", signed)).toBe(true);
  expect(isSigned([other], "ada", "head", signed)).toBe(false);
  expect(isSigned([key], "bob", "head", signed)).toBe(false);
  expect(isSigned([key], "ada", "base", signed)).toBe(false);
  expect(isSigned([key], "ada", "head", { ...signed, sequence: 2 })).toBe(false);
  expect(isSigned([key], "ada", "head", { ...signed, hash: "cd" })).toBe(false);
  expect(isSigned([key], "ada", "head", { ...signed, signature: "" })).toBe(false);
});

test("a change has the fields that differ, and long values are cut", () => {
  const before = { name: "a", visibility: "private", overview: "x", tags: ["b"] };
  expect(changedFields(before, { name: "a", tags: ["b"] })).toBeUndefined();
  expect(changedFields(before, { name: "c", tags: ["b", "c"], overview: null })).toEqual({
    before: { name: "a", tags: ["b"], overview: "x" },
    after: { name: "c", tags: ["b", "c"], overview: null },
  });
  const long = changedFields({}, { overview: "y".repeat(100_000) });
  expect(long?.after.overview).toBe(`${"y".repeat(500)}… (100000 characters)`);
  expect(long?.before.overview).toBeNull();
});
