/** Calls of the OpenAI convention: finding the model, creating the prediction, waiting for its end. */

import { interfaceOf } from "../../domain/models/remote.ts";
import { COMPATIBILITIES, type Convention, conventionOf } from "../../domain/openai/call.ts";
import { findUnsupported } from "../../domain/openai/unsupported.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { ProblemError } from "../../errors/errors.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import type { PredictionStub, Snapshot } from "../../objects/stubs/prediction.ts";
import type { Json } from "../../protocol/common.ts";
import {
  type Prediction,
  type PredictionWithIO,
  prediction,
  predictionWithIO,
} from "../../protocol/prediction.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import type { Webhook } from "../../protocol/webhook.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import type { CreatedPrediction, CreateOptions, Follow } from "../predictions/create-object.ts";
import { createResolved } from "../predictions/create-prediction.ts";
import { readWhole } from "../predictions/large-reads.ts";
import { predictionText } from "../predictions/prediction-text.ts";
import { type ResolvedVersion, resolveAnswering } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { timeoutProblem } from "./failure.ts";
import { exactLog, LogReader, type ParseLog } from "./log-reader.ts";

export interface Call {
  call: OpenAiCall;
  target: ResolvedVersion;
  body: { model: string; stream?: boolean | null | undefined } & Record<string, Json>;
  input?: Record<string, Json>;
  /** Whether `input` follows the model's own schema: the call runs as one of the model's own predictions. */
  isOwnInput?: boolean;
  /** Whether events or bytes are sent before the end; by default as the body says. */
  streams?: boolean;
  /** Scheme and host that the request came to. */
  origin: string;
  idempotencyKey: string | undefined;
  /** The prediction's id, as in `CreateOptions`. */
  id?: string;
  /**
   * Whether the caller does not wait: the prediction is then canceled neither when they disconnect nor at the
   * time limit.
   */
  background?: boolean;
  retentionSeconds?: number;
  webhook: Webhook | null | undefined;
  /** Files that came with the request, as in `CreateOptions`. */
  sent: CreateOptions["sent"];
  /** The text that the body was made from, as in `CreateOptions`. */
  source?: CreateOptions["source"];
  /** Called once the body is sent: from then on the call only waits. */
  onInputSent?: (() => void) | undefined;
}

/** The hint for callers that use names of a vendor's models. */
export const modelsHint = (convention: Convention) =>
  `Models are named owner/name. To list them, use GET ${SHOWN_PATHS[convention]}/models.`;

/** The addresses that errors and guides show for the paths `/v1/vendora` and `/v1/vendorb`. */
const SHOWN_PATHS: Record<Convention, string> = {
  vendora: "/openai/v1",
  vendorb: "/anthropic/v1",
};

/** How long before the time limit the timeout is reported. */
const MARGIN_SECONDS = 5;

/**
 * The limit of a plain response, which sends nothing until its end: Cloudflare closes a client's connection
 * on which nothing has come for 400 s ("Connection limits" in its documentation).
 */
const SILENT_SECONDS = 390;

/** Returns the seconds after which a call is canceled. A stream is never silent: it has heartbeats. */
export function timeLimit(
  { settings: { openAiTimeoutSeconds } }: Services,
  how: "plain" | "stream",
): number {
  return how === "stream" ? openAiTimeoutSeconds : Math.min(openAiTimeoutSeconds, SILENT_SECONDS);
}

/**
 * Returns the version that `model` refers to, which must support the call.
 * @throws OpenAiProblem model_not_found, unsupported_model
 */
export async function findCallable(
  services: Services,
  caller: Caller,
  model: string,
  call: OpenAiCall,
): Promise<ResolvedVersion> {
  const flags = COMPATIBILITIES[call];
  const convention = conventionOf(call);
  const answers = ({ compatibilities }: VersionRow) => flags.some((flag) => compatibilities[flag]);
  const target = await resolveAnswering(services, caller, model, answers).catch((error) => {
    if (!(error instanceof ProblemError && error.code === "not_found")) throw error;
    const message = `The model '${model}' does not exist or you do not have access to it. ${modelsHint(convention)}`;
    throw new OpenAiProblem(404, { message, param: "model", code: "model_not_found" });
  });
  const { version } = target;
  if (answers(version)) return target;
  const { compatibilities, configuration } = version;
  const saysNothing =
    interfaceOf(configuration) === "vendora" && !Object.values(compatibilities).includes(true);
  const advice = saysNothing
    ? ` Its server does not say which APIs it answers: if it answers this one, its owner can publish a version with "compatibilities": {"${flags[0]}": true}.`
    : "";
  const message = version.awaits?.includes("compatibilities")
    ? `Version ${version.number} of '${model}' has not started yet, so its compatibilities are unknown. Run it once with POST /v1/predictions. The first start completes the version within 10 s.`
    : `Version ${version.number} of '${model}' does not support ${flags.map(plainName).join(" or ")}. Run it with POST /v1/predictions, or choose a model from GET ${SHOWN_PATHS[convention]}/models.${advice}`;
  throw new OpenAiProblem(400, { message, param: "model", code: "unsupported_model" });
}

/** Returns "chat completions" for `vendora_chat_completions`. */
const plainName = (flag: string) => flag.replace(/^vendor[ab]_/, "").replaceAll("_", " ");

/**
 * Returns the fields of a request that its answer repeats or depends on. The rest may be megabytes, and an
 * answer may take minutes.
 */
export function askedOf(body: Call["body"]): Call["body"] {
  const { model, stream } = body;
  const limits = LIMITS.flatMap((name) =>
    typeof body[name] === "number" ? [[name, body[name]] as const] : [],
  );
  return { model, ...(stream && { stream }), ...Object.fromEntries(limits) };
}

/** The names of the limits that `limitOf` reads. */
const LIMITS = ["max_output_tokens", "max_completion_tokens", "max_tokens"];

export interface BegunCall extends CreatedPrediction {
  user_id: string;
  /** The request without what the model reads: that may be megabytes, and the call still waits. */
  request: Call["body"];
}

/**
 * Creates the prediction of a call. It is canceled when the caller disconnects, unless it is in the
 * background.
 * @throws OpenAiProblem unsupported_parameter, and as createPrediction
 */
export async function beginCall(
  services: Services,
  caller: Caller,
  call: Call,
): Promise<BegunCall> {
  checkSupported(call);
  const { target, body, origin, idempotencyKey, background = false, retentionSeconds } = call;
  const { streams = body.stream === true, isOwnInput } = call;
  const seconds = timeLimit(services, streams ? "stream" : "plain");
  const { messages, input, prompt, documents, ...rest } = body;
  const request = {
    input: call.input ?? body,
    stream: streams,
    ...(call.webhook && { webhook: call.webhook }),
    ...(retentionSeconds !== undefined && { retention_seconds: retentionSeconds }),
  };
  const named = isOwnInput ? null : call.call;
  const order = { reference: body.model, target, call: named, request };
  const created = await createResolved(services, caller, order, {
    origin,
    id: call.id,
    idempotencyKey,
    validateInput: false,
    waitSeconds: 0,
    cancelAfterSeconds: background ? null : seconds,
    ...followed(background, request.stream),
    sent: call.sent,
    source: call.source,
    onInputSent: call.onInputSent,
  });
  return { ...created, user_id: caller.user_id, request: rest };
}

/** A background call that is not streamed is not followed: its object would send events that nobody reads. */
function followed(background: boolean, stream: boolean): { follow?: Follow } {
  if (!background) return { follow: { leave: "cancel" } };
  return stream ? { follow: {} } : {};
}

/**
 * Checks the parameters of a call to a Cog model, which would ignore those it does not support. A `vendora`
 * server refuses them itself.
 */
function checkSupported({ call, target: { version }, body, input }: Call): void {
  // Callers that make an input of their own check the parameters themselves.
  if (interfaceOf(version.configuration) === "vendora" || input) return;
  const unsupported = findUnsupported(call, body, rootKeywords(version.schemas, "input"));
  if (!unsupported) return;
  const { param, property } = unsupported;
  const message = `'${param}' is not supported: the input schema of '${body.model}' does not have '${property}'. Omit it, or use a model that supports it.`;
  throw invalidParameter(param, "unsupported_parameter", message);
}

export interface EndedCall {
  request: Call["body"];
  prediction: Prediction;
  outputs: Json[];
}

/** The characters of output that a waiting call holds. An output has up to 16 MiB. */
const HELD_CHARS = 256 * 1024;

/**
 * How long a call waits for its turn to read a large output. It is long, since a refusal would make the
 * client repeat the run.
 */
const TURN_MS = 60_000;

/**
 * Waits for the end. If the caller disconnects before, the prediction is canceled. A large output is read
 * again at the end, when it is its turn.
 * @param parse as in LogReader
 * @throws OpenAiProblem timeout
 */
export async function waitForCall(
  services: Services,
  begun: BegunCall,
  parse?: ParseLog,
): Promise<EndedCall> {
  const { request, id, stub, created_at, user_id } = begun;
  const first = readerOf(services, begun, timeLimit(services, "plain"), parse);
  const { data, outputs } = await readToEnd(first, id, HELD_CHARS);
  const again = () =>
    readToEnd(
      readerOf(services, { stub, id, created_at }, undefined, parse),
      id,
      Number.POSITIVE_INFINITY,
    );
  const whole = outputs ?? (await readWhole(user_id, again, TURN_MS)).outputs ?? [];
  return { request, prediction: prediction.parse(data), outputs: whole };
}

/** Returns the data of the last event, and the outputs, unless they have more characters. */
async function readToEnd(reader: LogReader, id: string, chars: number) {
  const outputs: Json[] = [];
  let held = 0;
  try {
    for (;;) {
      const entries = await reader.next();
      if (!entries) throw new Error(`the log of ${id} has no end`);
      for (const { event, data, size } of entries) {
        if (event === "done") return { data, outputs: held > chars ? undefined : outputs };
        if (event !== "output") continue;
        held += size;
        if (held > chars) outputs.length = 0;
        else outputs.push(data);
      }
    }
  } finally {
    await reader.cancel();
  }
}

/**
 * Reads the events of a call's prediction. They end shortly before the time limit: the official clients wait
 * as long, and would try again if they had no response by then.
 * @param seconds the limit; none in the background
 * @param parse as in LogReader
 */
export function readerOf(
  services: Services,
  created: CreatedPrediction,
  seconds?: number,
  parse?: ParseLog,
): LogReader {
  const { stub, id, follow, events } = created;
  const reader = new LogReader(services, stub, id, follow?.leave, events, parse);
  if (seconds !== undefined)
    reader.expireAfter(seconds - Math.min(MARGIN_SECONDS, seconds / 20), timeoutProblem(seconds));
  return reader;
}

/** Returns the full prediction of a snapshot; undefined when it has been deleted meanwhile. */
export async function contentOf(
  services: Services,
  stub: PredictionStub,
  snapshot: Snapshot,
): Promise<PredictionWithIO | undefined> {
  const { text } = (await predictionText(services, stub, snapshot)) ?? {};
  if (text === undefined) return undefined;
  return predictionWithIO.parse(exactLog(await new Response(text).text()));
}

/** Returns Unix seconds, as in the convention. @param at Unix ms or a timestamp */
export const unixSeconds = (at: number | string) => Math.floor(new Date(at).getTime() / 1_000);
