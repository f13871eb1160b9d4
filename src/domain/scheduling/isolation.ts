/**
 * What runs may share on a runner's machine. The Worker decides it, and tells the runner by opaque
 * keys: what has different ones is kept apart. They are made with a secret, since ids of accounts
 * are public, and a runner is not to learn who calls.
 */
import { encodeBase64Url } from "hono/utils/encode";
import type { Isolation } from "../../protocol/model.ts";
import type { Keys } from "../../protocol/runner.ts";

export interface Run {
  model_id: string;
  version_number: number;
  isolation: Isolation;
  /** Whose run it is. */
  user_id: string;
  prediction_id: string;
}

/** Another secret makes other keys: containers that are up are not found any more, and end idle. */
export async function isolationKeys(secret: string, run: Run): Promise<Keys> {
  const { model_id, version_number, isolation, user_id, prediction_id } = run;
  const apart = { model: [], account: [user_id], prediction: [prediction_id] }[isolation];
  const [container, files] = await Promise.all([
    keyed(secret, ["container", model_id, version_number, isolation, ...apart]),
    keyed(secret, ["files", user_id]),
  ]);
  return { container, files };
}

const HMAC = { name: "HMAC", hash: "SHA-256" };

/** Of the last secret: one is enough, and it costs more to make than all that is done with it. */
let made: { secret: string; key: Promise<CryptoKey> } | undefined;

async function keyed(secret: string, parts: (string | number)[]): Promise<string> {
  if (made?.secret !== secret) {
    const bytes = bytesOf(`auspex isolation v1 ${secret}`);
    made = { secret, key: crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]) };
  }
  const signature = await crypto.subtle.sign(
    "HMAC",
    await made.key,
    bytesOf(JSON.stringify(parts)),
  );
  return encodeBase64Url(signature).replaceAll("=", "");
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
