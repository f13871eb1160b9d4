/** Deliveries as a receiver verifies them: with the library of Standard Webhooks, and by hand. */
import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import { WEBHOOK_HEADERS } from "../../../src/protocol/webhook-payload.ts";
import type { Received } from "../../receiver/exchange.ts";

/** Returns a new key of Standard Webhooks. */
export const newStandardSecret = () => `whsec_${randomBytes(24).toString("base64")}`;

/** A secret that no delivery is signed with: a check that accepts it would accept anything. */
const STRANGER = newStandardSecret();

/** Checks that each of the secrets alone verifies either header; without secrets there is no header. */
export function expectSigned({ headers, body }: Received, secrets: string[]): void {
  const { signature, plainSignature } = WEBHOOK_HEADERS;
  expect(headers).toHaveProperty(WEBHOOK_HEADERS.id);
  expect(headers).toHaveProperty(WEBHOOK_HEADERS.timestamp);
  if (secrets.length === 0) {
    expect(headers).not.toHaveProperty(signature);
    expect(headers).not.toHaveProperty(plainSignature);
    return;
  }
  for (const secret of secrets) libraryOf(secret).verify(body, headers);
  expect(() => libraryOf(STRANGER).verify(body, headers)).toThrow("No matching signature");
  expect(headers[signature]?.split(" ")).toHaveLength(secrets.length);
  expectPlainSignature(headers[plainSignature] ?? "", body, secrets);
}

const libraryOf = (secret: string) =>
  secret.startsWith("whsec_") ? new Webhook(secret) : new Webhook(secret, { format: "raw" });

/**
 * Checks `t=<unix seconds>,v1=<hex of the HMAC-SHA256 of "t.body">,v1=…`: the key is the text of a secret.
 */
function expectPlainSignature(header: string, body: string, secrets: string[]): void {
  const [time, ...signatures] = header.split(",");
  const seconds = time?.replace(/^t=/, "");
  const expected = secrets.map(
    (secret) => `v1=${createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex")}`,
  );
  expect(signatures.toSorted()).toEqual(expected.toSorted());
}
