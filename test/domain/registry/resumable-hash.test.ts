import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ResumableHash } from "../../../src/domain/registry/resumable-hash.ts";

test("put away between any two pieces, it is that of all bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 12 }), (lengths) => {
      const pieces = lengths.map((length) => randomBytes(length));
      let state = "";
      for (const piece of pieces) {
        const hash = new ResumableHash(state);
        hash.update(piece);
        state = hash.state();
        expect(state.length).toBeLessThanOrEqual(204);
      }
      const whole = createHash("sha256").update(Buffer.concat(pieces)).digest("hex");
      expect(new ResumableHash(state).digest()).toBe(`sha256:${whole}`);
    }),
  );
});

test("its count of bytes goes beyond 4 GiB", () => {
  const block = new Uint8Array(64);
  const words = new ResumableHash();
  words.update(block);
  const state = words.state();
  // As if 78 GiB had come before: only the count differs, and so does the digest.
  const far = `${state.slice(0, 64)}${(78 * 1024 ** 3).toString(16).padStart(14, "0")}`;
  expect(new ResumableHash(far).state()).toBe(far);
  expect(new ResumableHash(far).digest()).not.toBe(words.digest());
});
