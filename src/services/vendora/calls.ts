/** A call of the vendora convention: its model, the prediction that it is, and the wait for its end. */
import { COMPATIBILITY } from "../../domain/vendora/call.ts";
import { ProblemError } from "../../errors.ts";
import { VendoraProblem } from "../../errors-vendora.ts";
import type { Leave } from "../../objects/prediction/doors.ts";
import type { Snapshot } from "../../objects/prediction/record.ts";
import type { Json } from "../../protocol/common.ts";
import {
  type Prediction,
  type PredictionWithIO,
  prediction,
  predictionWithIO,
} from "../../protocol/prediction.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import { type Created, createOrdered } from "../create-prediction.ts";
import { textOf } from "../prediction-text.ts";
import type { Services } from "../services.ts";
import { findTarget, type Target } from "../targets.ts";
import type { Caller } from "../tokens.ts";
import { timedOut } from "./failure.ts";
import { LogReader } from "./log-reader.ts";
import { timer } from "./streams.ts";

export interface Call {
  call: VendoraCall;
  target: Target;
  body: { model: string; stream?: boolean | null | undefined } & Record<string, Json>;
  /** Scheme and host that the request came to. */
  origin: string;
  idempotencyKey: string | undefined;
  /** Whoever asked does not wait for it: it is not cancelled when they leave, or time is up. */
  background?: boolean;
  retentionSeconds?: number;
}

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

/** It ends with whoever asked, unless it is in the background. @throws as createPrediction */
export function beginCall(services: Services, caller: Caller, call: Call): Promise<Created> {
  const { target, body, origin, idempotencyKey, background = false, retentionSeconds } = call;
  const request = {
    input: body,
    stream: body.stream === true,
    ...(retentionSeconds !== undefined && { retention_seconds: retentionSeconds }),
  };
  const order = { reference: body.model, target, call: call.call, request };
  return createOrdered(services, caller, order, {
    origin,
    idempotencyKey,
    validateInput: false,
    wait: 0,
    cancelAfter: background ? null : services.settings.vendoraTimeoutSeconds,
    follow: background ? {} : { leave: "cancel" },
  });
}

/** A call's prediction at its end. */
export interface EndedCall {
  prediction: Prediction;
  /** What the model has put out, value by value. */
  outputs: Json[];
}

/**
 * The prediction once it has ended; who is gone before that cancels it.
 * @throws VendoraProblem timeout
 */
export async function endOfCall(services: Services, created: Created): Promise<EndedCall> {
  const seconds = services.settings.vendoraTimeoutSeconds;
  const late = timer(seconds, timedOut(seconds));
  const reader = readerOf(services, created, "cancel");
  const outputs: Json[] = [];
  try {
    for (;;) {
      const entries = await Promise.race([reader.peek(), late]);
      reader.take();
      if (!entries) throw new Error(`the log of ${created.snapshot.id} has no end`);
      for (const { event, data } of entries) {
        if (event === "output") outputs.push(data);
        if (event === "done") return { prediction: prediction.parse(data), outputs };
      }
    }
  } finally {
    await reader.cancel();
  }
}

/** The events of a call's prediction. @param leave as it was begun with */
export const readerOf = (
  services: Services,
  { stub, snapshot, events }: Created,
  leave: Leave | undefined,
): LogReader => new LogReader(services, stub, snapshot.id, leave, events);

/** A prediction in full, as it was when the snapshot was taken. */
export async function contentOf(
  services: Services,
  { id, body }: Snapshot,
): Promise<PredictionWithIO> {
  return predictionWithIO.parse(await new Response(textOf(services, id, body)).json());
}

/** As the convention counts time. @param at unix time, ms, or a timestamp */
export const secondsOf = (at: number | string) => Math.floor(new Date(at).getTime() / 1_000);
