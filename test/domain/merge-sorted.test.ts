/** Merging of several sorted lists into one page. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { compare, type Key, mergeSorted } from "../../src/domain/cursor.ts";

interface Row {
  count: number;
  id: string;
}

const keyOf = ({ count, id }: Row): Key => [count, id];
const inOrder = (ascending: boolean) => (a: Row, b: Row) =>
  (ascending ? 1 : -1) * compare(keyOf(a), keyOf(b));

/** Rows with unique IDs: a row has the same count in every list. */
const rows = fc.uniqueArray(
  fc.record<Row>({ count: fc.nat(3), id: fc.string({ minLength: 1, maxLength: 3 }) }),
  { selector: ({ id }) => id },
);

test("a merged page equals sorting all lists at once, with each row once", () =>
  fc.assert(
    fc.property(
      rows,
      fc.array(fc.array(fc.nat()), { minLength: 1, maxLength: 20 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 30 }),
      (all, picks, ascending, limit) => {
        const lists = picks.map((pick) =>
          all.filter((_, n) => pick.some((at) => at % all.length === n)).sort(inOrder(ascending)),
        );
        const wanted = all
          .filter((row) => lists.some((list) => list.includes(row)))
          .sort(inOrder(ascending))
          .slice(0, limit);
        // The database also limits each list to the size of the page.
        const given = lists.map((list) => list.slice(0, limit));
        expect(mergeSorted(given, { keyOf, ascending }, limit)).toEqual(wanted);
      },
    ),
  ));

test("a merge of no lists is empty", () => {
  expect(mergeSorted<Row>([], { keyOf, ascending: true }, 5)).toEqual([]);
});

test("sort keys are compared by the first pair that differs", () => {
  expect(compare([1, "b"], [2, "a"])).toBeLessThan(0);
  expect(compare([2, "b"], [2, "a"])).toBeGreaterThan(0);
  expect(compare([2, "a"], [2, "a"])).toBe(0);
  expect(compare([9], [10])).toBeLessThan(0);
});
