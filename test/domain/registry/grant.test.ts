/** Grants of the registry: what they open, until when, and that only the deployment can sign them. */
import { describe, expect, test } from "vitest";
import {
  type Grant,
  grantEnd,
  signGrant,
  verifyGrant,
} from "../../../src/domain/registry/grant.ts";
import { modelOfRepository, ownRepository } from "../../../src/protocol/registry.ts";

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
  test("a verified grant has the content that was signed", async () => {
    expect(await verifyGrant([NEW], await signedWith(NEW), NOW)).toEqual(GRANT);
  });

  test("a grant ends", async () => {
    const text = await signedWith(NEW);
    expect(await verifyGrant([NEW], text, NOW + 999)).toEqual(GRANT);
    expect(await verifyGrant([NEW], text, NOW + 1_000)).toBeUndefined();
  });

  test("a grant outlives a pull of 100 GB at 5 MB/s, however short the setup limit is", () => {
    expect(grantEnd(NOW, 60) - NOW).toBeGreaterThan((100_000 / 5) * 1_000);
  });

  test("a grant stays valid while the secret is replaced", async () => {
    expect(await verifyGrant([NEW, OLD], await signedWith(OLD), NOW)).toEqual(GRANT);
    expect(await verifyGrant([NEW], await signedWith(OLD), NOW)).toBeUndefined();
  });

  test("a grant with any character altered is invalid", async () => {
    const text = await signedWith(NEW);
    // The last character has two bits that base64url does not use.
    for (let at = 0; at < text.length - 1; at++) {
      const altered = text.slice(0, at) + (text[at] === "1" ? "2" : "1") + text.slice(at + 1);
      expect(await verifyGrant([NEW], altered, NOW), `${at}`).toBeUndefined();
    }
  });

  test("a text that only looks like a grant is invalid", async () => {
    const text = await signedWith(NEW);
    for (const other of ["", ".", text.slice(1), `${text}A`, `${text}\n`, `aus_${text}`])
      expect(await verifyGrant([NEW], other, NOW)).toBeUndefined();
  });

  test("a grant is neither signed nor verified by a deployment without a secret", async () => {
    expect(await signGrant([], GRANT)).toBeUndefined();
    expect(await verifyGrant([], await signedWith(NEW), NOW)).toBeUndefined();
  });
});

describe("a repository of the deployment", () => {
  test("a repository of the deployment names its model", () => {
    expect(modelOfRepository(ownRepository(GRANT.model_id))).toBe(GRANT.model_id);
  });

  test.each([
    "registry.test/ada/story",
    "ada/story",
    "auspex/models/story",
    `registry.test/auspex/models/${GRANT.model_id}`,
    `auspex/models/${GRANT.model_id}/x`,
  ])("a repository of the deployment is not named %s", (repository) => {
    expect(modelOfRepository(repository)).toBeUndefined();
  });
});
