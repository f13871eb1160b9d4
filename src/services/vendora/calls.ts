/** A call of the vendora convention: its model, the prediction that it is, and the wait for its end. */
import { COMPATIBILITY } from "../../domain/vendora/call.ts";
import { ProblemError } from "../../errors.ts";
import { VendoraProblem } from "../../errors-vendora.ts";
import type { Snapshot } from "../../objects/prediction/record.ts";
import { endOf, type PredictionStub } from "../../objects/prediction/stub.ts";
import type { Json } from "../../protocol/common.ts";
import { type PredictionWithIO, predictionWithIO } from "../../protocol/prediction.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import { type Created, createOrdered } from "../create-prediction.ts";
import { textOf } from "../prediction-text.ts";
import type { Services } from "../services.ts";
import { findTarget, type Target } from "../targets.ts";
import type { Caller } from "../tokens.ts";
import { timedOut } from "./failure.ts";

export interface Call {
  call: VendoraCall;
  target: Target;
  body: { model: string; stream?: boolean | null | undefined } & Record<string, Json>;
  /** Scheme and host that the request came to. */
  origin: string;
  idempotencyKey: string | undefined;
  /** Aborts when whoever asked has gone. */
  leaving: AbortSignal;
  /** Whoever asked does not wait for it: it is not cancelled when they leave, or time is up. */
  background?: boolean;
  retentionSeconds?: number;
}

/** Between two tries to wait, when one has broken off. */
const RETRY_MS = 100;

/**
 * The version that `model` names, which must allow such a call.
 * @throws VendoraProblem model_not_found, unsupported_model
 */
export async function findCallable(
  services: Services,
  caller: Caller,
  model: string,
  call: VendoraCall,
): Promise<Target> {
  const target = await findTarget(services, caller, model).catch((error: unknown) => {
    if (!(error instanceof ProblemError && error.code === "not_found")) throw error;
    const message = `The model '${model}' does not exist or you do not have access to it.`;
    throw new VendoraProblem(404, { message, param: "model", code: "model_not_found" });
  });
  if (target.version.compatibilities[COMPATIBILITY[call]]) return target;
  const message = `Version ${target.version.number} of '${model}' has no ${COMPATIBILITY[call]} among its compatibilities: its owner can publish one that has.`;
  throw new VendoraProblem(400, { message, param: "model", code: "unsupported_model" });
}

/** @throws the reason of `leaving`, and what createPrediction throws */
export async function beginCall(services: Services, caller: Caller, call: Call): Promise<Created> {
  const { target, body, origin, idempotencyKey, background = false, retentionSeconds } = call;
  const request = {
    input: body,
    stream: body.stream === true,
    ...(retentionSeconds !== undefined && { retention_seconds: retentionSeconds }),
  };
  const order = { reference: body.model, target, call: call.call, request };
  const cancelAfter = background ? null : services.settings.vendoraTimeoutSeconds;
  const options = { origin, idempotencyKey, cancelAfter, wait: 0, validateInput: false };
  const created = await createOrdered(services, caller, order, options);
  // Gone already, when nobody was there yet to notice it.
  if (call.leaving.aborted && !background) {
    await created.stub.cancel();
    throw call.leaving.reason;
  }
  return created;
}

/**
 * The prediction once it has ended.
 * @param leaving aborts when its caller has gone: that cancels it
 * @throws VendoraProblem timeout
 */
export async function endOfCall(
  services: Services,
  { stub, snapshot }: Created,
  leaving: AbortSignal,
): Promise<PredictionWithIO> {
  const { vendoraTimeoutSeconds } = services.settings;
  const ended = await waitFor(stub, snapshot, vendoraTimeoutSeconds * 1_000, leaving);
  if (!ended) throw timedOut(vendoraTimeoutSeconds);
  return contentOf(services, ended);
}

/** A call that broke off, as a deploy ends one that waits, is made again for the time that is left. */
async function waitFor(
  stub: PredictionStub,
  begun: Snapshot,
  ms: number,
  leaving: AbortSignal,
): Promise<Snapshot | undefined> {
  const deadline = Date.now() + ms;
  let snapshot = begun;
  while (!snapshot.terminal) {
    leaving.throwIfAborted();
    const left = deadline - Date.now();
    if (left <= 0) return undefined;
    const found = await endOf(stub, left, leaving);
    if (found) snapshot = found;
    else await scheduler.wait(RETRY_MS);
  }
  return snapshot;
}

/** A prediction in full, as it was when the snapshot was taken. */
export async function contentOf(
  services: Services,
  { id, body }: Snapshot,
): Promise<PredictionWithIO> {
  return predictionWithIO.parse(await new Response(textOf(services, id, body)).json());
}

/** What a model has put out, value by value. */
export function outputsOf({ output }: Pick<PredictionWithIO, "output">): Json[] {
  if (output === null) return [];
  return Array.isArray(output) ? output : [output];
}

/** As the convention counts time. @param at unix time, ms, or a timestamp */
export const secondsOf = (at: number | string) => Math.floor(new Date(at).getTime() / 1_000);
