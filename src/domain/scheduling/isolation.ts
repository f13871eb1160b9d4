/**
 * Isolation of runs on a runner's machine. The Worker decides what they share and gives the runner opaque
 * keys: runs with different keys are kept apart. Keys are made with a secret, because user ids are public and
 * a runner must not learn who the caller is.
 */
import { encodeBase64Url } from "hono/utils/encode";
import type { Isolation } from "../../protocol/model.ts";
import type { JobHardware, Keys } from "../../protocol/runner.ts";
import type { Variables } from "../models/variables.ts";

export interface Run {
  model_id: string;
  version_number: number;
  /** The class that the container has a share of. */
  hardware: JobHardware;
  /** Variables of the container, encrypted: each time that a variable is set its text is another. */
  variables: Variables;
  isolation: Isolation;
  user_id: string;
  prediction_id: string;
  /** The model's owner, if the version has weights. */
  weights_owner_id?: string | undefined;
  /** The deployment that is run: its containers are its own. */
  deployment?: { id: string; max_concurrency: number } | undefined;
}

/**
 * The key of a container covers all that it is started with: the rest is fixed for a version. After a
 * change of the secret running containers are no longer found, and stop when idle; those with variables
 * also once these are encrypted again.
 */
export async function isolationKeys(secret: string, run: Run): Promise<Keys> {
  const { model_id, version_number, isolation, user_id, prediction_id } = run;
  const { identifier, gpus } = run.hardware;
  const { weights_owner_id: owner, deployment } = run;
  const scope = { model: [], account: [user_id], prediction: [prediction_id] }[isolation];
  const [container, files, weights] = await Promise.all([
    keyed(secret, [
      "container",
      model_id,
      version_number,
      identifier,
      gpus,
      sorted(run.variables),
      isolation,
      ...scope,
      ...(deployment ? [deployment.id, deployment.max_concurrency] : []),
    ]),
    keyed(secret, ["files", user_id]),
    // Weights are shared by all models of their owner, for all callers.
    owner === undefined ? undefined : keyed(secret, ["weights", owner]),
  ]);
  return { container, files, ...(weights !== undefined && { weights }) };
}

const sorted = (variables: Variables) =>
  Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));

const HMAC = { name: "HMAC", hash: "SHA-256" };

/** The key of the last secret: importing it costs more than signing with it. */
let cachedKey: { secret: string; key: Promise<CryptoKey> } | undefined;

async function keyed(secret: string, parts: (string | number | string[][])[]): Promise<string> {
  if (cachedKey?.secret !== secret) {
    const bytes = bytesOf(`auspex isolation v1 ${secret}`);
    cachedKey = { secret, key: crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]) };
  }
  const signature = await crypto.subtle.sign(
    "HMAC",
    await cachedKey.key,
    bytesOf(JSON.stringify(parts)),
  );
  return encodeBase64Url(signature).replaceAll("=", "");
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
