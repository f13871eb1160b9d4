/** Encryption of small texts: a sealed text opens only with its key, and only for its context and purpose. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DecryptionFailed,
  decrypt,
  type EncryptionKeys,
  encrypt,
} from "../../src/domain/encryption.ts";

const SECRET = "a-secret-key-of-this-test-0123456789";
const OLDER = "an-older-key-of-this-test-0123456789";
const at = (changes: Partial<EncryptionKeys> = {}): EncryptionKeys => ({
  secrets: [SECRET],
  purpose: "variables",
  context: "model:HF_TOKEN",
  ...changes,
});

const EARLIER = "v1.4acded73.IjoPthlBLzbP97SltYtIJwg9rHc9tfe7mI20UmG2jkN9o3bsng";

/** Texts of whole characters: the service accepts no lone surrogates. */
const text = fc.string({ unit: "binary", maxLength: 300 });

describe("what is sealed", () => {
  test("any sealed text opens again", async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.string({ unit: "binary" }), async (value, context) => {
        const sealed = await encrypt(at({ context }), value);
        expect(await decrypt(at({ context }), sealed)).toBe(value);
      }),
    );
  });

  test("a sealed text keeps a byte order mark, and 32 KiB", async () => {
    for (const value of ["\ufefftoken", "x".repeat(32 * 1024), "🔑".repeat(1_000), "a\nb\n"])
      expect(await decrypt(at(), await encrypt(at(), value))).toBe(value);
  });

  test("a sealed text shows its format and its key, and nothing of its content", async () => {
    const sealed = await encrypt(at(), "hunter2");
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{47}$/);
    expect(atob(sealed.split(".")[2]?.replace(/-/g, "+").replace(/_/g, "/") ?? "")).not.toContain(
      "hunter2",
    );
  });

  test("a text is sealed to another value each time", async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => encrypt(at(), "the same")));
    expect(new Set(all).size).toBe(100);
  });

  test("a sealed text has the ID of its key, which differs by secret and by purpose", async () => {
    const idOf = async (sealing: EncryptionKeys) => (await encrypt(sealing, "x")).split(".")[1];
    const ids = [
      await idOf(at()),
      await idOf(at({ secrets: [OLDER] })),
      await idOf(at({ purpose: "webhooks" })),
    ];
    expect(new Set(ids).size).toBe(3);
    expect(await idOf(at({ context: "elsewhere" }))).toBe(ids[0]);
    // The ID must stay the same, so that texts that earlier releases have sealed still open.
    expect(ids[0]).toBe("4acded73");
  });

  test("a text that an earlier release has sealed opens", async () => {
    expect(await decrypt(at(), EARLIER)).toBe("as it was");
  });
});

describe("it does not open", () => {
  const refused = (sealing: EncryptionKeys, sealed: string) =>
    expect(decrypt(sealing, sealed)).rejects.toThrow(DecryptionFailed);

  test("a text that was sealed for another context or purpose does not open", async () => {
    const sealed = await encrypt(at(), "hunter2");
    await refused(at({ context: "model:HF_TOKEN2" }), sealed);
    await refused(at({ context: "" }), sealed);
    await refused(at({ purpose: "webhooks" }), sealed);
  });

  test("a sealed text with any character changed does not open", async () => {
    const sealed = await encrypt(at(), "hunter2");
    await fc.assert(
      fc.asyncProperty(
        fc.nat(sealed.length - 1),
        fc.constantFrom("A", "z", "3", "-", "."),
        async (n, other) => {
          fc.pre(sealed[n] !== other);
          const changed = sealed.slice(0, n) + other + sealed.slice(n + 1);
          // The last character of base64 has bits that belong to no byte.
          const opened = await decrypt(at(), changed).catch((error: unknown) => error);
          if (n === sealed.length - 1 && opened === "hunter2") return;
          expect(opened).toBeInstanceOf(DecryptionFailed);
        },
      ),
    );
  });

  test.each(["", "v1", "v1..", "v1.00000000.", "v2.00000000.AAAA", "whsec_AAAA", "v1.0000000g.AA"])(
    "the text %j does not open",
    (sealed) => refused(at(), sealed),
  );

  test("a sealed text that is cut short does not open", async () => {
    const sealed = await encrypt(at(), "hunter2");
    for (let length = 0; length < sealed.length - 1; length++)
      await refused(at(), sealed.slice(0, length));
  });

  test("opening without the key names the missing secret, and never the text", async () => {
    const sealed = await encrypt(at({ secrets: [OLDER] }), "hunter2");
    for (const secrets of [[SECRET], []]) {
      const error: unknown = await decrypt(at({ secrets }), sealed).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(DecryptionFailed);
      expect(String(error)).toContain("SECRET_KEY");
      expect(String(error)).toContain(sealed.split(".")[1]);
      expect(String(error)).not.toContain("hunter2");
      expect(String(error)).not.toContain(SECRET);
      expect(String(error)).not.toContain(OLDER);
    }
  });
});

test("a text that the old key has sealed opens after a new key was added, and the new key seals", async () => {
  const before = await encrypt(at({ secrets: [OLDER] }), "hunter2");
  const both = at({ secrets: [SECRET, OLDER] });
  expect(await decrypt(both, before)).toBe("hunter2");
  const after = await encrypt(both, "hunter2");
  expect(await decrypt(at(), after)).toBe("hunter2");
  await expect(decrypt(at({ secrets: [OLDER] }), after)).rejects.toThrow(DecryptionFailed);
});

test("sealing without a key fails", async () => {
  await expect(encrypt(at({ secrets: [] }), "hunter2")).rejects.toThrow("SECRET_KEY");
});
