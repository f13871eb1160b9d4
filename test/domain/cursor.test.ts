/** Cursors: opaque, sealed, valid for one list only. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compare,
  decodeCursor,
  encodeCursor,
  importCursorKey,
  type Key,
  mergeSorted,
  type Position,
} from "../../src/domain/cursor.ts";
import { ValidationFailure } from "../../src/domain/schemas/validation.ts";

const key = await importCursorKey("0123456789abcdef".repeat(8));
const otherKey = await importCursorKey("0123456789abcdee".repeat(8));
const LIST = "models/?created_at&asc&";
const position: Position = {
  go: "next",
  key: [17, "019a0000-0000-7000-8000-000000000001"],
  inclusive: false,
};
const cursor = await encodeCursor(key, LIST, position);

const expectRefused = async (text: string, list = LIST, signer = key) => {
  const error: unknown = await decodeCursor(signer, list, text).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ValidationFailure);
  expect(error).toMatchObject({ issues: [{ loc: ["query", "cursor"] }] });
};

const positions = fc.record<Position>({
  go: fc.constantFrom("next", "previous"),
  key: fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.integer()), { minLength: 1 }),
  inclusive: fc.boolean(),
});

test("an encoded cursor decodes to the same position in every list", () =>
  fc.assert(
    fc.asyncProperty(positions, fc.string({ unit: "grapheme" }), async (given, list) => {
      const text = await encodeCursor(key, list, given);
      expect(await decodeCursor(key, list, text)).toEqual(given);
    }),
  ));

test("a cursor is the same for the same position, and does not show its content", async () => {
  expect(await encodeCursor(key, LIST, position)).toBe(cursor);
  expect(await encodeCursor(key, LIST, { ...position, go: "previous" })).not.toBe(cursor);
  expect(await encodeCursor(key, "users?asc", position)).not.toBe(cursor);
  expect(atob(cursor.replaceAll("-", "+").replaceAll("_", "/"))).not.toContain("019a0000");
});

test("a cursor needs no escaping in a URL", () =>
  fc.assert(
    fc.asyncProperty(positions, async (given) => {
      const text = await encodeCursor(key, LIST, given);
      expect(encodeURIComponent(text)).toBe(text);
    }),
  ));

describe("refused is", () => {
  test("a cursor of another list or with other filters is refused", async () => {
    for (const list of ["", "models/?created_at&desc&", `${LIST}chat`, `${LIST}\n`, "users?asc"])
      await expectRefused(cursor, list);
  });

  test("a cursor whose list name ends with the start of its content is refused", async () => {
    await expectRefused(await encodeCursor(key, "a\n", position), "a");
    await expectRefused(await encodeCursor(key, "a", position), "a\n");
  });

  test("a cursor of another deployment is refused", () => expectRefused(cursor, LIST, otherKey));

  test("a cursor with any one character changed, left out or doubled is refused", async () => {
    for (let at = 0; at < cursor.length; at++) {
      const [before, char, after] = [cursor.slice(0, at), cursor[at] ?? "", cursor.slice(at + 1)];
      for (const other of "A-_.=0z%".replace(char, "")) await expectRefused(before + other + after);
      await expectRefused(before + after);
      await expectRefused(before + char + char + after);
    }
  });

  test("a cursor in another spelling of its base64 is refused", async () => {
    await expectRefused(`${cursor}=`);
    const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const spelt = cursor.slice(0, -1) + last[last.indexOf(cursor.at(-1) ?? "") ^ 1];
    await expectRefused(spelt);
  });

  test("a cursor that was put together from two is refused", async () => {
    const other = await encodeCursor(key, LIST, { ...position, go: "previous" });
    for (const at of [8, 16, 20, 40]) await expectRefused(other.slice(0, at) + cursor.slice(at));
  });

  test("any other text is refused as a cursor", () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[\w-]{0,120}$/)),
        (text) => expectRefused(text),
      ),
    ));
});

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
