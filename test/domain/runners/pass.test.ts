/** What a runner's pass proves, and that nobody else can write one. */
import { describe, expect, test } from "vitest";
import {
  isFresh,
  type Pass,
  signPass,
  TOKEN_MS,
  verifyPass,
} from "../../../src/domain/runners/pass.ts";

const [NEW, OLD] = ["a secret of thirty-two characters", "the one that was in use before it"];
const [TOKEN, OTHER_TOKEN] = ["a".repeat(64), "b".repeat(64)];
const PASS: Pass = {
  token_id: "0193b0f0-0000-7000-8000-000000000001",
  runner_id: "0193b0f0-0000-7000-8000-000000000002",
  pool: "l40s.x4",
  known_at: 1_800_000_000_000,
};

async function signedWith(secret: string): Promise<string> {
  const text = await signPass([secret], PASS, TOKEN);
  if (text === undefined) throw new Error("not signed");
  return text;
}

describe("a pass", () => {
  test("says what was signed", async () => {
    expect(await verifyPass([NEW], await signedWith(NEW), TOKEN)).toEqual(PASS);
  });

  test("stays valid while the secret is replaced", async () => {
    expect(await verifyPass([NEW, OLD], await signedWith(OLD), TOKEN)).toEqual(PASS);
    expect(await verifyPass([NEW], await signedWith(OLD), TOKEN)).toBeUndefined();
  });

  test("opens nothing beside another token", async () => {
    expect(await verifyPass([NEW], await signedWith(NEW), OTHER_TOKEN)).toBeUndefined();
  });

  test("is worth nothing once any part of it is altered", async () => {
    const text = await signedWith(NEW);
    for (let at = 0; at < text.length; at++) {
      const altered = text.slice(0, at) + (text[at] === "1" ? "2" : "1") + text.slice(at + 1);
      // The last character has two bits that base64url does not use.
      if (at === text.length - 1) continue;
      expect(await verifyPass([NEW], altered, TOKEN), `${at}`).toBeUndefined();
    }
  });

  test("is not what only looks like one", async () => {
    const text = await signedWith(NEW);
    for (const other of [
      "",
      ".",
      text.slice(1),
      `${text}A`,
      `${text}\n`,
      text.replaceAll(".", ".."),
    ])
      expect(await verifyPass([NEW], other, TOKEN)).toBeUndefined();
  });

  test("is not given by a deployment without a secret", async () => {
    expect(await signPass([], PASS, TOKEN)).toBeUndefined();
    expect(await verifyPass([], await signedWith(NEW), TOKEN)).toBeUndefined();
  });
});

test.each([
  ["at once", 0, true],
  ["until its time is over", TOKEN_MS - 1, true],
  ["no longer then", TOKEN_MS, false],
  ["from a clock that is a second ahead", -1_000, true],
  ["not from one that is further ahead", -1_001, false],
])("it proves a token by itself %s", (_, age, fresh) => {
  expect(isFresh(PASS, PASS.known_at + age)).toBe(fresh);
});
