import fc from "fast-check";
import { expect, test } from "vitest";
import { ResumableHash } from "../../../src/domain/registry/resumable-hash.ts";
import { hex } from "../../../src/lib/hex.ts";

test("a hash that is put away between any two pieces equals that of all bytes", async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(pieces, async (pieces) => {
      let state = "";
      for (const piece of pieces) {
        const hash = new ResumableHash(state);
        hash.update(piece);
        state = hash.state();
        expect(state.length).toBeLessThanOrEqual(204);
      }
      const whole = await new Blob(pieces.map((piece) => Uint8Array.from(piece))).arrayBuffer();
      const digest = `sha256:${hex(await crypto.subtle.digest("SHA-256", whole))}`;
      expect(new ResumableHash(state).digest()).toBe(digest);
    }),
  );
});

test("a resumable hash counts bytes beyond 4 GiB", () => {
  const block = new Uint8Array(64);
  const words = new ResumableHash();
  words.update(block);
  const state = words.state();
  // A state after 78 GiB more differs only in its count, and so does its digest.
  const far = `${state.slice(0, 64)}${(78 * 1024 ** 3).toString(16).padStart(14, "0")}`;
  expect(new ResumableHash(far).state()).toBe(far);
  expect(new ResumableHash(far).digest()).not.toBe(words.digest());
});
