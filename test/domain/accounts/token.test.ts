import { describe, expect, test } from "vitest";
import { isToken, newToken, sha256, tokenPrefix } from "../../../src/domain/accounts/token.ts";
import {
  formatLease,
  leaseProof,
  newSecret,
  parseLease,
  receiptOf,
} from "../../../src/domain/predictions/lease.ts";

describe("tokens", () => {
  test.each(["aus", "ausr"] as const)(
    "of kind %s have their form, and are never the same",
    (kind) => {
      const tokens = Array.from({ length: 50 }, () => newToken(kind));
      expect(new Set(tokens).size).toBe(50);
      for (const token of tokens) {
        expect(token).toMatch(new RegExp(`^${kind}_[0-9A-Za-z]{49}$`));
        expect(isToken(token, kind)).toBe(true);
        expect(isToken(token, kind === "aus" ? "ausr" : "aus")).toBe(false);
      }
    },
  );

  test("a token with one wrong character anywhere is refused", () => {
    const token = newToken("aus");
    const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    for (let at = 0; at < token.length; at++) {
      for (const wrong of alphabet) {
        if (wrong === token[at]) continue;
        expect(isToken(token.slice(0, at) + wrong + token.slice(at + 1), "aus")).toBe(false);
      }
    }
  });

  test("a token with two characters swapped, one missing or one too many is refused", () => {
    const token = newToken("aus");
    for (let at = 4; at < token.length - 1; at++) {
      const [a = "", b = ""] = [token[at], token[at + 1]];
      if (a !== b)
        expect(isToken(token.slice(0, at) + b + a + token.slice(at + 2), "aus")).toBe(false);
      expect(isToken(token.slice(0, at) + token.slice(at + 1), "aus")).toBe(false);
      expect(isToken(`${token.slice(0, at)}0${token.slice(at)}`, "aus")).toBe(false);
    }
    for (const text of ["", "aus_", `${token}\n`, ` ${token}`])
      expect(isToken(text, "aus")).toBe(false);
  });

  test("the shown part of a token is its kind and six characters", () => {
    const token = newToken("ausr");
    expect(tokenPrefix(token)).toBe(token.slice(0, 11));
  });

  test("a token is stored as its SHA-256", async () => {
    expect(await sha256("abc")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});

test("a lease proves one attempt to one runner under one token, and nothing of its receipt", async () => {
  const [secret, other] = [newSecret(), newSecret()];
  const proofs = await Promise.all(
    [
      [secret, "token", "runner"],
      [other, "token", "runner"],
      [secret, "another", "runner"],
      [secret, "token", "another"],
    ].map(([of = "", token = "", runner = ""]) => leaseProof(of, token, runner)),
  );
  expect(new Set(proofs).size).toBe(4);
  expect(await leaseProof(secret, "token", "runner")).toBe(proofs[0]);
  expect(receiptOf(secret)).not.toBe(receiptOf(other));
  // A receipt does not contain the part of the secret that proofs are made of.
  expect(secret.replace(receiptOf(secret), "")).toHaveLength(36);
});

describe("leases", () => {
  const lease = {
    attempt: 12,
    objectId: "0f".repeat(32),
    runnerId: "0199c0de-0000-4000-8000-000000000000",
    proof: "ab".repeat(32),
  };

  test("a formatted lease parses back to the same lease", () => {
    expect(parseLease(formatLease(lease))).toEqual(lease);
  });

  test.each([
    "",
    "1.2.3",
    formatLease({ ...lease, attempt: -1 }),
    formatLease({ ...lease, attempt: 1.5 }),
    formatLease({ ...lease, objectId: "0f" }),
    formatLease({ ...lease, objectId: "0F".repeat(32) }),
    formatLease({ ...lease, runnerId: "me" }),
    formatLease({ ...lease, proof: "short" }),
    formatLease({ ...lease, proof: `${"ab".repeat(31)} b` }),
    `${formatLease(lease)}.`,
    `x${formatLease(lease)}`,
  ])("%j is not a lease", (text) => {
    expect(parseLease(text)).toBeUndefined();
  });
});
