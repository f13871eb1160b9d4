import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import type { z } from "zod";
import type { webhookPayload } from "../../../src/protocol/webhook-payload.ts";
import {
  type RawRequest,
  type VerificationErrorCode,
  type VerifyOptions,
  verifyWebhook,
  type WebhookPayload,
  WebhookVerificationError,
  type WebRequest,
} from "../../../src/receiver/index.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDFuT0DjrL5ao=";
const TEXT_SECRET = "a passphrase, as people write them";
const NOW = 1_764_000_000_000;
const BODY = '{"status":"succeeded","output":"“Curiouser and curiouser!” 🐇"}';
const EVENT = JSON.parse(BODY);
const ID = "evt_01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e_7";

/** Returns a genuine delivery, signed by the library of Standard Webhooks and not by us. */
function delivery({ id = ID, at = NOW, body = BODY, secret = SECRET } = {}) {
  const webhook = secret.startsWith("whsec_")
    ? new Webhook(secret)
    : new Webhook(secret, { format: "raw" });
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": `${at / 1_000}`,
    "webhook-signature": webhook.sign(id, new Date(at), body),
  };
  return { headers, body };
}

const webRequest = ({ headers, body } = delivery()) =>
  new Request("https://example.com/hook", { method: "POST", headers, body });

async function refusal(
  request: WebRequest | RawRequest,
  secret: string | string[] | undefined = SECRET,
  options: VerifyOptions = { now: NOW },
): Promise<WebhookVerificationError> {
  const error: unknown = await verifyWebhook(request, secret, options).catch((thrown) => thrown);
  if (error instanceof WebhookVerificationError) return error;
  throw new Error("it was not refused", { cause: error });
}

async function expectRefused(code: VerificationErrorCode, ...rest: Parameters<typeof refusal>) {
  expect((await refusal(...rest)).code).toBe(code);
}

test("the type of an event is that of the protocol", () => {
  expectTypeOf<WebhookPayload>().toExtend<z.infer<typeof webhookPayload>>();
  expectTypeOf<z.infer<typeof webhookPayload>>().toExtend<WebhookPayload>();
  expectTypeOf<Request>().toExtend<WebRequest>();
  expectTypeOf<{ headers: IncomingMessage["headers"]; body: Buffer }>().toExtend<RawRequest>();
});

describe("a genuine delivery", () => {
  const { headers, body } = delivery();
  const bytes = Buffer.from(body);
  const shouted = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]);
  const listed = Object.entries(headers).map(([name, value]) => [name, [value]]);

  test.each<[string, WebRequest | RawRequest]>([
    ["a web Request", webRequest()],
    ["Headers, and text", { headers: new Headers(headers), body }],
    ["an object, and a Buffer", { headers, body: bytes }],
    ["an ArrayBuffer", { headers, body: new TextEncoder().encode(body).buffer }],
    ["bytes within a larger buffer", { headers, body: Buffer.from(`[${body}]`).subarray(1, -1) }],
    ["names in upper case", { headers: Object.fromEntries(shouted), body }],
    ["values in lists", { headers: Object.fromEntries(listed), body }],
  ])("a genuine delivery is verified as %s", async (_, request) => {
    expect(await verifyWebhook(request, SECRET, { now: NOW })).toEqual(EVENT);
  });

  test("a genuine delivery is verified as a server of Node receives it, by the clock", async () => {
    const server = createServer(async (request, response) => {
      const raw = { headers: request.headers, body: await buffer(request) };
      response.end(JSON.stringify(await verifyWebhook(raw, SECRET)));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const sent = delivery({ at: Math.floor(Date.now() / 1_000) * 1_000 });
    const answer = await fetch(`http://127.0.0.1:${port}`, { method: "POST", ...sent });
    expect(await answer.json()).toEqual(EVENT);
    server.close();
  });
});

describe("secrets", () => {
  test("any one of several secrets verifies, whichever has signed", async () => {
    for (const secret of [SECRET, OLD_SECRET])
      expect(await verifyWebhook(delivery({ secret }), [SECRET, OLD_SECRET], { now: NOW })).toEqual(
        EVENT,
      );
  });

  test.each([
    ["text that is no key of Standard Webhooks", TEXT_SECRET, TEXT_SECRET],
    ["a key whose padding was lost on the way", OLD_SECRET, OLD_SECRET.replace("=", "")],
    ["a key with the line break of the file that it was in", SECRET, `${SECRET}\n`],
  ])("a secret is accepted: %s", async (_, secret, used) => {
    expect(await verifyWebhook(delivery({ secret }), used, { now: NOW })).toEqual(EVENT);
  });

  test.each([
    ["none", []],
    ["an empty one", ""],
    ["one of two empty", [SECRET, ""]],
    ["a prefix and nothing", "whsec_"],
    ["no base64", "whsec_not base64!"],
    ["the other base64", "whsec_MfKQ9r8GKYqrTwj_PD8ILPZIo2LaLaSw"],
  ])("a secret is refused: %s", async (_, secret) => {
    await expectRefused("bad_secret", delivery(), secret);
  });

  test("a secret variable that is not set is refused", async () => {
    await expect(verifyWebhook(delivery(), process.env.NO_SUCH_SECRET)).rejects.toThrow(
      "The secret is missing. Check that the environment variable with the secret is set.",
    );
  });

  test("secrets are in no error message", async () => {
    const secrets = [TEXT_SECRET, OLD_SECRET, "whsec_a bad, but secret one"];
    for (const secret of secrets) {
      const { message, stack } = await refusal(delivery(), secret);
      expect(`${message} ${stack}`).not.toContain(secret.slice(6));
    }
  });
});

describe("headers", () => {
  test.each(["webhook-id", "webhook-timestamp", "webhook-signature"])(
    "a delivery without the header %s is refused",
    async (name) => {
      for (const value of [undefined, ""]) {
        const { headers, body } = delivery();
        await expectRefused("missing_headers", { headers: { ...headers, [name]: value }, body });
      }
    },
  );

  test("a context of Hono has no headers, and the error says what to pass", async () => {
    const request = webRequest();
    for (const passed of [{ arrayBuffer: () => request.arrayBuffer() }, { body: BODY }]) {
      // JavaScript can pass a context, because it checks no types.
      const { code, message } = await refusal(Object.assign(Object.create(null), passed));
      expect(code).toBe("missing_headers");
      expect(message).toContain("c.req.raw");
    }
  });

  test.each([
    ...["", "soon", "1764000000.0", "-1", "+1764000000", "0x69244e00", "1764000000, 1764000000"],
  ])("the time %j is refused", async (time) => {
    const { headers, body } = delivery();
    const error = await refusal({ headers: { ...headers, "webhook-timestamp": time }, body });
    expect(error.code).toBe(time === "" ? "missing_headers" : "bad_headers");
  });

  test("a signature verifies no other split of ID, time and body", async () => {
    const { headers } = delivery({ body: `x.${NOW / 1_000}.${BODY}` });
    const shifted = { ...headers, "webhook-id": `${ID}.${NOW / 1_000}.x` };
    await expectRefused("bad_headers", { headers: shifted, body: BODY });
  });
});

describe("the time it was sent", () => {
  test.each([
    [-300, undefined, undefined],
    [300, undefined, undefined],
    [-301, undefined, "timestamp_too_old"],
    [301, undefined, "timestamp_too_new"],
    [-11, 10, "timestamp_too_old"],
    [11, 10, "timestamp_too_new"],
    [-10, 10, undefined],
    [10, 10, undefined],
    [0, 0, undefined],
    [-86_400, Number.POSITIVE_INFINITY, undefined],
  ] as const)("%i s from now, %s s allowed: %s", async (seconds, toleranceSeconds, code) => {
    const request = delivery({ at: NOW + seconds * 1_000 });
    const options = { now: NOW + 999, toleranceSeconds };
    if (code) await expectRefused(code, request, SECRET, options);
    else expect(await verifyWebhook(request, SECRET, options)).toEqual(EVENT);
  });

  test("a tolerance that is no number refuses every delivery", async () => {
    const options = { now: NOW, toleranceSeconds: Number.NaN };
    await expect(verifyWebhook(delivery(), SECRET, options)).rejects.toThrow("NaN s are allowed");
  });
});

describe("the body", () => {
  test("a body that is parsed or unread is refused, and the error asks for the raw one", async () => {
    for (const body of [EVENT, undefined, null, webRequest().body]) {
      const { code, message } = await refusal({ ...delivery(), body });
      expect(code).toBe("bad_body");
      expect(message).toContain("Pass the raw body as text or bytes");
    }
  });

  test("a body that was parsed and written again is refused, and the error says so", async () => {
    const { headers } = delivery({ body: JSON.stringify(EVENT, null, 1) });
    const { code, message } = await refusal({ headers, body: JSON.stringify(EVENT) });
    expect(code).toBe("no_match");
    expect(message).toContain("No signature matches. Pass the raw body exactly as received");
  });

  test("the body of a Request that was read before is refused", async () => {
    const request = webRequest();
    await request.json();
    await expectRefused("bad_body", request);
  });

  test.each(["", "not JSON"])("the signed body %j is refused", async (body) => {
    await expectRefused("bad_body", delivery({ body }));
  });
});

describe("signatures", () => {
  const { headers, body } = delivery();
  const genuine = headers["webhook-signature"] ?? "";
  const other = `v1,${"A".repeat(43)}=`;
  const signedWith = (...signatures: string[]) => ({
    headers: { ...headers, "webhook-signature": signatures.join(" ") },
    body,
  });

  test.each([
    ["after one of another secret", [other, genuine]],
    ["among versions that are not known", ["v1a,c2ln", "v2,c2ln", genuine, "v3", "…"]],
    ["after what is none", ["v1,", "v1,%%%", ",", "", genuine]],
    ["joined by the comma of a list of headers", [`${other},`, genuine]],
    ["as the twentieth", [...Array(19).fill(other), genuine]],
  ])("a signature header is accepted: %s", async (_, signatures) => {
    expect(await verifyWebhook(signedWith(...signatures), SECRET, { now: NOW })).toEqual(EVENT);
  });

  test.each([
    ["of another secret", [other]],
    ["of a version that is not known", [genuine.replace("v1", "v2")]],
    ["without a version", [genuine.slice(3)]],
    ["cut off", [genuine.slice(0, -4)]],
    ["with something after it", [`${genuine}A`]],
    ["of nothing", ["v1,"]],
  ])("a signature header is refused: %s", async (_, signatures) => {
    await expectRefused("no_match", signedWith(...signatures));
  });

  test("at most twenty signatures are checked for each secret", async () => {
    const verify = vi.spyOn(crypto.subtle, "verify");
    const many = signedWith(...Array<string>(10_000).fill(other), genuine);
    await expectRefused("no_match", many, [SECRET, OLD_SECRET]);
    expect(verify).toHaveBeenCalledTimes(40);
    verify.mockRestore();
  });
});
