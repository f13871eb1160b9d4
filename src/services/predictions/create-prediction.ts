/** Creates predictions. */

import { priorityOf } from "../../domain/accounts/access.ts";
import { sha256 } from "../../domain/accounts/token.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import { bodyFiles, callOf } from "../../domain/openai/call.ts";
import { newPredictionUuid } from "../../domain/predictions/prediction-id.ts";
import { hasStoredInput, type StoredWebhook } from "../../domain/predictions/state.ts";
import { validateInput } from "../../domain/schemas/json-schema.ts";
import {
  fault,
  invalid,
  issueAt,
  jsonText,
  type Loc,
  ValidationFailure,
} from "../../domain/schemas/validation.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { urlRefusal } from "../../domain/webhooks/address.ts";
import { storedSecret } from "../../domain/webhooks/stored-secret.ts";
import { notVisible, ProblemError } from "../../errors/errors.ts";
import { SNAPSHOT_CHARS, type StreamReader } from "../../objects/stubs/prediction.ts";
import type { Priority } from "../../protocol/common.ts";
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import type { Webhook } from "../../protocol/webhook.ts";
import { getAccountFacts } from "../../storage/webhooks/account-facts.ts";
import type { Caller } from "../access/access.ts";
import { openAccount } from "../access/accounts.ts";
import type { Services } from "../services.ts";
import { type CreatedPrediction, type CreateOptions, createObject } from "./create-object.ts";
import { openLog } from "./event-log.ts";
import { asSent, comparable, withCopies } from "./inline-files.ts";
import { inputFiles } from "./input-files.ts";
import { predictionSpec } from "./prediction-spec.ts";
import { largeInput, storedInputOf } from "./stored-input.ts";
import { type ResolvedVersion, resolveFallbacks, resolveVersion } from "./version-resolution.ts";

/** A request whose version has been found. */
export interface ResolvedRequest {
  /** The model's name as the caller wrote it. */
  reference: string;
  target: ResolvedVersion;
  call: OpenAiCall | null;
  request: CreatePredictionOfVersion;
}

/**
 * @throws ProblemError not_found, forbidden (priority), conflict (Idempotency-Key), too_many_requests, unavailable
 * @throws ValidationFailure for an input that does not fit the version's schema, or a webhook's URL
 */
export async function createPrediction(
  services: Services,
  caller: Caller,
  reference: string,
  request: CreatePredictionOfVersion,
  options: CreateOptions,
): Promise<CreatedPrediction> {
  checkRetention(services, request);
  const [target] = await Promise.all([
    resolveVersion(services, caller, reference),
    // The facts are looked up in parallel and cached, so that a cold cache costs no extra time.
    getAccountFacts(services.db, caller.user_id),
  ]);
  const call = callOf(target.version, request.input);
  return createResolved(services, caller, { reference, target, call, request }, options);
}

/** Creates a prediction as `createPrediction` does, of a version that has been found. */
export async function createResolved(
  services: Services,
  caller: Caller,
  { reference, target, call, request }: ResolvedRequest,
  options: CreateOptions,
): Promise<CreatedPrediction> {
  const schema = versionSchema(target.version.schemas, "input");
  const isBody = interfaceOf(target.version.configuration) === "vendora";
  const filesSchema = (isBody && call && bodyFiles(call)) || schema;
  const {
    origin,
    waitSeconds,
    cancelAfterSeconds,
    follow,
    idempotencyKey: key,
    sent,
    source,
    warmUp,
    onInputSent,
  } = options;
  if (options.validateInput && !warmUp) validateInput(schema, asSent(request.input, sent));
  requireServer(caller, request);
  if (request.webhook) checkWebhook(services, request.webhook, options.api && WEBHOOK);
  if (options.ofDeployment && !target.deployment) throw notVisible(`The deployment '${reference}'`);
  const priority = requirePriority(caller, request, target.deployment?.priority);
  const { input: asked, ...rest } = request;
  const askedText = jsonText(asked, ["body"], source);
  const id = sent?.prediction_id ?? options.id ?? newPredictionUuid();
  const [found, webhook, facts, accountObject, fallbacks] = await Promise.all([
    inputFiles(services, caller, {
      ...{ schema: filesSchema, input: asked, text: askedText },
      ...{ origin, sent },
    }),
    storedWebhook(services, id, request.webhook, options.api),
    getAccountFacts(services.db, caller.user_id),
    openAccount(services, caller.user_id),
    warmUp || options.starts ? [] : resolveFallbacks(services, caller, target),
  ]);
  // The hash covers what is named: when the request is repeated, the reference may name another model.
  const hashed = [target.deployment?.id ?? target.model.id, reference, rest, call];
  const hash = async () => sha256(JSON.stringify(hashed) + (await comparable(askedText, sent)));
  // A client token finds only keys of its own: a repeated key returns the prediction.
  const ownKey = caller.client_id === undefined ? key : key && `${caller.client_id} ${key}`;
  const claim =
    ownKey === undefined ? null : { maker: caller.maker, key: ownKey, hash: await hash() };
  const { input, files, copies } = await withCopies(services, origin, id, {
    input: asked,
    files: found,
  });
  const text =
    copies.length > 0 ? jsonText(input, ["body"], { value: asked, text: askedText }) : askedText;
  const large = largeInput(text);
  const fields = {
    id,
    account_object: accountObject,
    priority,
    call,
    cancel_on_disconnect: follow?.leave === "cancel" && claim === null,
    claim,
    files,
    stored_input: storedInputOf(large),
    webhook,
    ...(warmUp && { warm_up: warmUp }),
    starts: options.starts,
    ...facts,
  };
  const waits = waitSeconds > 0 && follow === undefined;
  const spec = await predictionSpec(services, caller, { ...target, fallbacks }, request, fields, {
    origin,
    waits,
    cancelAfterSeconds,
  });
  const createRequest = {
    spec,
    input: large ? "" : text,
    wait_seconds: waitSeconds,
    snapshot_chars: SNAPSHOT_CHARS,
  };
  const named = new Set(files.map(({ stored }) => stored?.key));
  const own = [...(sent?.files ?? []), ...copies].filter(({ key }) => named.has(key));
  const parts = hasStoredInput(spec) ? { text: large, files: own } : undefined;
  return createObject(services, createRequest, { follow, onInputSent, parts });
}

/** @throws ProblemError forbidden for what a client token may not ask for */
function requireServer({ client_id }: Caller, request: CreatePredictionOfVersion): void {
  if (client_id === undefined || !(request.webhook || request.start_check)) return;
  throw new ProblemError(
    "forbidden",
    "A client token cannot set 'webhook' or 'start_check'. Create the prediction on your server, or use a webhook endpoint of the account.",
  );
}

/** @param own the priority of the deployment that is run @throws ProblemError forbidden */
export function requirePriority(
  { priority: held }: Caller,
  { priority: asked }: CreatePredictionOfVersion,
  own?: Priority | null,
): Priority {
  // A token that does not allow the deployment's own priority has its highest one.
  const priority = priorityOf(asked, held, own ?? undefined);
  if (priority !== undefined) return priority;
  throw new ProblemError(
    "forbidden",
    `This access token allows at most priority '${held}', not '${asked}'. Omit 'priority', or use another token.`,
  );
}

/** @throws ValidationFailure */
export function checkRetention(
  { settings }: Services,
  { retention_seconds }: CreatePredictionOfVersion,
) {
  const le = settings.retentionSeconds;
  if (retention_seconds === undefined || retention_seconds <= le) return;
  const place: Loc = ["body", "retention_seconds"];
  const issue = issueAt(place, fault("less_than_equal", { le }), retention_seconds);
  throw new ValidationFailure([issue]);
}

const WEBHOOK: Loc = ["body", "webhook"];

/** @throws ValidationFailure */
export function checkWebhook(
  { settings }: Services,
  { url }: Webhook,
  place: Loc = [...WEBHOOK, "url"],
): void {
  const refusal = urlRefusal(new URL(url), settings.webhooks.allowInsecure);
  if (refusal) throw invalid(place, refusal, "value_error", url);
}

/** @param id of the prediction */
export async function storedWebhook(
  { settings }: Services,
  id: string,
  webhook: Webhook | null | undefined,
  api?: StoredWebhook["api"],
): Promise<StoredWebhook | null> {
  if (webhook?.secret === undefined) return webhook ? { ...webhook, ...(api && { api }) } : null;
  return { ...webhook, ...(await storedSecret(settings.secretKeys, id, webhook.secret)) };
}

/**
 * Creates a prediction and follows it, in one call to its object. Leaving the stream does not
 * cancel the prediction.
 * @throws as createPrediction
 */
export async function createPredictionStream(
  services: Services,
  caller: Caller,
  reference: string,
  request: CreatePredictionOfVersion,
  options: Omit<CreateOptions, "waitSeconds" | "follow"> & {
    idleSeconds: number | undefined;
    reader: StreamReader;
  },
): Promise<{ id: string; events: ReadableStream<Uint8Array> | null }> {
  const follow = { idle_seconds: options.idleSeconds, reader: options.reader };

  const { id, stub, events } = await createPrediction(services, caller, reference, request, {
    ...options,
    waitSeconds: 0,
    follow,
  });
  return {
    id,
    events: events ?? (await openLog(services, stub, id, { after: 0, ...follow })).body,
  };
}
