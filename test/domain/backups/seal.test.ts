import fc from "fast-check";
import { expect, test } from "vitest";
import {
  backupKeyId,
  openPart,
  sealPart,
  UnreadablePart,
} from "../../../src/domain/backups/seal.ts";

const KEY = "a-backup-key-for-tests-of-32-characters";
const OTHER = "another-backup-key-for-tests-of-32-chars";
const PLACE = { backup: "b", number: 1 };

test("any sealed text opens with any of the keys", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.nat(), async (text, number) => {
      const place = { backup: "b", number };
      const part = await sealPart([KEY, OTHER], place, text);
      expect(await openPart([OTHER, KEY], place, part)).toBe(text);
    }),
    { numRuns: 50 },
  );
});

test("a sealed text is compressed, and differs each time", async () => {
  const text = "row ".repeat(10_000);
  const [one, two] = [await sealPart([KEY], PLACE, text), await sealPart([KEY], PLACE, text)];
  expect(one.length).toBeLessThan(1_000);
  expect(one).not.toEqual(two);
});

test("a sealed text does not open with a changed byte, in another place or with another key", async () => {
  const part = await sealPart([KEY], PLACE, "text");
  for (let n = 0; n < part.length; n++) {
    const changed = part.slice();
    changed[n] = (changed[n] ?? 0) ^ 1;
    await expect(openPart([KEY], PLACE, changed)).rejects.toThrow(UnreadablePart);
  }
  for (const place of [
    { backup: "c", number: 1 },
    { backup: "b", number: 2 },
  ])
    await expect(openPart([KEY], place, part)).rejects.toThrow("belongs to another backup");
  await expect(openPart([KEY], PLACE, part.slice(0, 20))).rejects.toThrow(UnreadablePart);
  const [id, yours] = [await backupKeyId(KEY), await backupKeyId(OTHER)];
  await expect(openPart([OTHER], PLACE, part)).rejects.toThrow(
    `Part 1 of b was encrypted with a different BACKUP_KEY (key ID ${id}; yours: ${yours})`,
  );
  await expect(sealPart([], PLACE, "text")).rejects.toThrow("BACKUP_KEY");
});
