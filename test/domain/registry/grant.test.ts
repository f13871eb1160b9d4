/** What a grant opens, until when, and that nobody else can write one. */
import { describe, expect, test } from "vitest";
import {
  type Grant,
  grantEnd,
  signGrant,
  verifyGrant,
} from "../../../src/domain/registry/grant.ts";
import { modelOfRepository, ownRepository } from "../../../src/domain/registry/own-image.ts";

const [NEW, OLD] = ["a secret of thirty-two characters", "the one that was in use before it"];
const NOW = 1_800_000_000_000;
const GRANT: Grant = {
  model_id: "0193b0f0-0000-7000-8000-000000000001",
  token_id: "0193b0f0-0000-7000-8000-000000000002",
  expires_at: NOW + 1_000,
};

async function signedWith(secret: string): Promise<string> {
  const text = await signGrant([secret], GRANT);
  if (text === undefined) throw new Error("not signed");
  return text;
}

describe("a grant", () => {
  test("says what was signed", async () => {
    expect(await verifyGrant([NEW], await signedWith(NEW), NOW)).toEqual(GRANT);
  });

  test("ends", async () => {
    const text = await signedWith(NEW);
    expect(await verifyGrant([NEW], text, NOW + 999)).toEqual(GRANT);
    expect(await verifyGrant([NEW], text, NOW + 1_000)).toBeUndefined();
  });

  test("outlives a pull of 100 GB at 5 MB/s, however short the setup may be", () => {
    expect(grantEnd(NOW, 60) - NOW).toBeGreaterThan((100_000 / 5) * 1_000);
  });

  test("stays valid while the secret is replaced", async () => {
    expect(await verifyGrant([NEW, OLD], await signedWith(OLD), NOW)).toEqual(GRANT);
    expect(await verifyGrant([NEW], await signedWith(OLD), NOW)).toBeUndefined();
  });

  test("is worth nothing once any part of it is altered", async () => {
    const text = await signedWith(NEW);
    // The last character has two bits that base64url does not use.
    for (let at = 0; at < text.length - 1; at++) {
      const altered = text.slice(0, at) + (text[at] === "1" ? "2" : "1") + text.slice(at + 1);
      expect(await verifyGrant([NEW], altered, NOW), `${at}`).toBeUndefined();
    }
  });

  test("is not what only looks like one", async () => {
    const text = await signedWith(NEW);
    for (const other of ["", ".", text.slice(1), `${text}A`, `${text}\n`, `aus_${text}`])
      expect(await verifyGrant([NEW], other, NOW)).toBeUndefined();
  });

  test("is not given by a deployment without a secret", async () => {
    expect(await signGrant([], GRANT)).toBeUndefined();
    expect(await verifyGrant([], await signedWith(NEW), NOW)).toBeUndefined();
  });
});

describe("a repository of the deployment", () => {
  test("names its model", () => {
    expect(modelOfRepository(ownRepository(GRANT.model_id))).toBe(GRANT.model_id);
  });

  test.each([
    "registry.test/ada/story",
    "ada/story",
    "auspex/models/story",
    `registry.test/auspex/models/${GRANT.model_id}`,
    `auspex/models/${GRANT.model_id}/x`,
  ])("is not %s", (repository) => {
    expect(modelOfRepository(repository)).toBeUndefined();
  });
});
