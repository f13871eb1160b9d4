import { expect, test } from "vitest";
import {
  isSignedToken,
  readSignedToken,
  signToken,
} from "../../../src/domain/accounts/signed-token.ts";
import { signingKey } from "../../../src/domain/files/signed-url.ts";

const key = signingKey(new Uint8Array(32).fill(1));
const older = signingKey(new Uint8Array(32).fill(2));
const claims = {
  ...{ id: "c1", issuer: "t1", expires_at: 5 },
  ...{ models: ["m1"], origins: ["https://ünicode.example.com"] },
};

test("a signed token returns its claims, also by an older key", () => {
  const token = signToken(older, "ausc", claims);
  expect(token).toMatch(/^ausc_[\w-]+\.[\w-]{43}$/);
  expect(readSignedToken([key, older], "ausc", token)).toEqual(claims);
});

test("a token that is signed by another key, or changed anywhere, has no claims", () => {
  const token = signToken(key, "ausc", claims);
  expect(readSignedToken([older], "ausc", token)).toBeUndefined();
  const [text = "", signature = ""] = token.slice(5).split(".");
  const forged = btoa(JSON.stringify({ ...claims, expires_at: 1e15 })).replaceAll("=", "");
  for (const changed of [
    `ausc_${forged}.${signature}`,
    `ausc_${text}x.${signature}`,
    `ausc_${text}.${"A".repeat(43)}`,
    `ausc_${text}`,
    `ausc_${text}.`,
    "ausc_.",
    "",
  ])
    expect(readSignedToken([key], "ausc", changed)).toBeUndefined();
});

test("a signed token of one kind does not pass for another", () => {
  const token = signToken(key, "ausc", claims);
  const other = `ause_${token.slice(5)}`;
  expect(isSignedToken(token, "ausc")).toBe(true);
  expect(isSignedToken(token, "ause")).toBe(false);
  expect(readSignedToken([key], "ause", token)).toBeUndefined();
  expect(readSignedToken([key], "ause", other)).toBeUndefined();
});
