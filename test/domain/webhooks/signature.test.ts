import { createHmac } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { z } from "zod";
import { newWebhookSecret, signedHeaders } from "../../../src/domain/webhooks/signature.ts";
import { webhookSecret } from "../../../src/protocol/webhook.ts";
import { WEBHOOK_HEADERS } from "../../../src/protocol/webhook-payload.ts";
import { verifyWebhook, WebhookVerificationError } from "../../../src/receiver/index.ts";

const ID = "evt_01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e_7";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TEXT = "a passphrase, as people write them";
const BODY = '{"output":"“Curiouser and curiouser!” 🐇"}';

const standardSecret = fc
  .uint8Array({ minLength: 16, maxLength: 64 })
  .map((key) => `whsec_${btoa(String.fromCharCode(...key))}`);
const textSecret = fc
  .string({ unit: "grapheme-ascii", minLength: 16, maxLength: 64 })
  .filter((text) => webhookSecret.safeParse(text).success);
const secrets = fc.array(fc.oneof(standardSecret, textSecret), { minLength: 1, maxLength: 4 });
const json = fc.json({ stringUnit: "binary" });

/** Verifies with the library of Standard Webhooks, called in the usual way. */
const standard = (secret: string) =>
  secret.startsWith("whsec_") ? new Webhook(secret) : new Webhook(secret, { format: "raw" });

/** Verifies the second form with plain tools, from the text of the secret, like the guide does. */
function plainVerifies(headers: Record<string, string>, body: string, secret: string): boolean {
  const header = headers["auspex-webhook-signature"] ?? "";
  const [, time, signatures = ""] = /^t=(\d+)((?:,v1=[0-9a-f]{64})+)$/.exec(header) ?? [];
  const expected = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
  return signatures.split(",v1=").includes(expected);
}

test("the signature equals the test vector of the libraries of Standard Webhooks", async () => {
  const delivery = {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    at: 1_614_265_330_000,
    body: '{"test": 2432232314}',
  };
  const headers = await signedHeaders(delivery, [SECRET]);
  expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("each receiver's own secret verifies, in both forms and all implementations", async () => {
  await fc.assert(
    fc.asyncProperty(secrets, json, async (all, body) => {
      const headers = await signedHeaders({ id: ID, at: Date.now(), body }, all);
      for (const secret of all) {
        expect(standard(secret).verify(body, headers)).toEqual(JSON.parse(body));
        expect(await verifyWebhook({ headers, body }, secret)).toEqual(JSON.parse(body));
        expect(plainVerifies(headers, body, secret)).toBe(true);
      }
    }),
  );
});

test("another receiver's secret does not verify", async () => {
  const headers = await signedHeaders({ id: ID, at: Date.now(), body: BODY }, [SECRET, TEXT]);
  for (const secret of [newWebhookSecret(), `${TEXT}.`, SECRET.slice("whsec_".length)]) {
    expect(() => standard(secret).verify(BODY, headers)).toThrow("No matching signature");
    await expect(verifyWebhook({ headers, body: BODY }, secret)).rejects.toThrow("No signature");
    expect(plainVerifies(headers, BODY, secret)).toBe(false);
  }
});

test.each(["webhook-id", "webhook-timestamp", "webhook-signature", "body"])(
  "a bit flipped anywhere in %s breaks the signature",
  async (where) => {
    const at = Date.now();
    const headers = await signedHeaders({ id: ID, at, body: BODY }, [SECRET]);
    const whole = { ...headers, body: BODY };
    for (const flipped of flips(where === "body" ? BODY : (headers[where] ?? ""))) {
      const { body, ...rest } = { ...whole, [where]: flipped };
      await expect(
        verifyWebhook({ headers: rest, body }, SECRET, { now: at }),
      ).rejects.toBeInstanceOf(WebhookVerificationError);
    }
  },
);

test("a bit flipped anywhere in the second form, or in what it signs, breaks the signature", async () => {
  const headers = await signedHeaders({ id: ID, at: Date.now(), body: BODY }, [TEXT]);
  for (const body of flips(BODY)) expect(plainVerifies(headers, body, TEXT)).toBe(false);
  for (const header of flips(headers["auspex-webhook-signature"] ?? ""))
    expect(plainVerifies({ "auspex-webhook-signature": header }, BODY, TEXT)).toBe(false);
});

test("an empty body is signed like any other", async () => {
  const headers = await signedHeaders({ id: ID, at: Date.now(), body: "" }, [SECRET]);
  expect(standard(SECRET).verify("", headers)).toBeUndefined();
  expect(plainVerifies(headers, "", SECRET)).toBe(true);
});

test("the signed time is that of the try, in whole seconds that have begun", async () => {
  const headers = await signedHeaders({ id: ID, at: 1_764_000_000_999, body: BODY }, [SECRET]);
  expect(headers["webhook-timestamp"]).toBe("1764000000");
  expect(headers["auspex-webhook-signature"]).toMatch(/^t=1764000000,/);
});

test("signatures are in the order of the secrets, and no header contains a part of a secret", async () => {
  const delivery = { id: ID, at: Date.now(), body: BODY };
  const both = await signedHeaders(delivery, [SECRET, TEXT]);
  const [one, other] = [
    await signedHeaders(delivery, [SECRET]),
    await signedHeaders(delivery, [TEXT]),
  ];
  expect(both["webhook-signature"]).toBe(
    `${one["webhook-signature"]} ${other["webhook-signature"]}`,
  );
  expect(Object.keys(both).sort()).toEqual(Object.values(WEBHOOK_HEADERS).sort());
  for (const part of [SECRET.slice(6), TEXT]) expect(JSON.stringify(both)).not.toContain(part);
});

test("a delivery without a secret has no signature", async () => {
  expect(await signedHeaders({ id: ID, at: 1_764_000_000_000, body: BODY }, [])).toEqual({
    "webhook-id": ID,
    "webhook-timestamp": "1764000000",
  });
});

test("a new secret is 256 random bits that a create accepts", () => {
  const made = Array.from({ length: 100 }, newWebhookSecret);
  expect(new Set(made).size).toBe(100);
  for (const secret of made) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhookSecret.parse(secret)).toBe(secret);
  }
});

test.each([
  ["an accent", "très secrète, vraiment"],
  ["another script", "пароль-пароль-пароль"],
  ["a line break at its end", `${TEXT}\n`],
  ["a tab", "a passphrase\twith a tab"],
  ["a zero", "a passphrase\0with a zero"],
])("a text with %s is refused as a secret, because libraries differ on it", (_, secret) => {
  expect(webhookSecret.safeParse(secret).error?.issues).toMatchObject([
    { message: expect.stringMatching(/only ASCII letters/) },
  ]);
});

test("a secret needs at least eight characters", () => {
  expect(webhookSecret.parse("12345678")).toBe("12345678");
  expect(webhookSecret.safeParse("1234567").success).toBe(false);
});

test("the API document states the same rule for secrets", () => {
  const { pattern, minLength, maxLength } = z.toJSONSchema(webhookSecret);
  expect({ pattern, minLength, maxLength }).toEqual({
    pattern: "^[ -~]{8,256}$",
    minLength: 8,
    maxLength: 256,
  });
});

test("a key without padding, or in base64url, is refused as a secret, because libraries differ on it", () => {
  for (const key of ["MfKQ9r8GKYqrTwjUPD8ILP", "MfKQ9r8GKYqrTwj_PD8ILPZIo2LaLaSw"])
    expect(webhookSecret.safeParse(`whsec_${key}`).success).toBe(false);
});

/** Yields the text with each of its bits flipped, one at a time. */
function* flips(text: string) {
  for (let at = 0; at < text.length; at++)
    for (let bit = 1; bit < 128; bit <<= 1)
      yield text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ bit) + text.slice(at + 1);
}
