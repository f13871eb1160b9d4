/** The webhook endpoints of accounts, and their secrets. */
import { v7 as uuid } from "uuid";
import { invalid } from "../../domain/schemas/validation.ts";
import { newWebhookSecret } from "../../domain/webhooks/signature.ts";
import { storedForEndpoint } from "../../domain/webhooks/stored-secret.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { checkResolvedUrl, ResolutionFailed } from "../../outbound/resolve.ts";
import type {
  CreateWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
} from "../../protocol/webhook.ts";
import { forgetEndpoints } from "../../storage/webhooks/endpoint-cache.ts";
import {
  addSecret,
  deleteEndpoint as deleteRow,
  type EndpointChanges,
  type EndpointSecret,
  listEndpoints as endpointsOf,
  findOwnEndpoint,
  insertEndpoint,
  removeSecret,
  replaceSecrets,
  updateEndpoint as updateRow,
  type WebhookEndpointRow,
} from "../../storage/webhooks/endpoints.ts";
import type { Caller } from "../access/access.ts";
import { requireCurrentAccess } from "../access/authentication.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";

/**
 * Endpoints per account. An object has at most six outgoing connections: four slow receivers leave one for
 * the prediction's own webhook, and one for everything else.
 */
export const MAX_ENDPOINTS = 4;

/** The longest that a registration waits for the DNS resolver. */
const RESOLVE_MS = 2_000;

/** Secrets per endpoint: one in use, the next one, and one for a mistake in between. */
export const MAX_SECRETS = 3;

/**
 * @returns the endpoint with its first secret, which is not shown again
 * @throws ValidationFailure for a URL that is not allowed
 * @throws ProblemError conflict
 */
export async function createEndpoint(
  services: Services,
  caller: Caller,
  request: CreateWebhookEndpoint,
): Promise<{ row: WebhookEndpointRow; secret: string }> {
  await requireEndpoints(services, caller);
  const { user_id } = caller;
  await checkUrl(services, request.url);
  const now = Date.now();
  const id = uuid();
  const first = newSecret(now);
  const row: WebhookEndpointRow = {
    ...request,
    id,
    user_id,
    secrets: [await storedForEndpoint(services.settings.secretKeys, id, first)],
    failing_since: null,
    last_error: null,
    notice: null,
    created_at: now,
    updated_at: now,
  };
  const entry = auditEntry({
    action: "webhook_endpoint.created",
    ...ofEndpoint(row),
    after: recordable(request),
  });
  if (!(await insertEndpoint(services.db, row, MAX_ENDPOINTS, entry))) {
    throw conflict(
      `An account can have at most ${MAX_ENDPOINTS} webhook endpoints. Delete or update one. For one prediction, pass 'webhook' in the request.`,
    );
  }
  forgetEndpoints(user_id);
  return { row, secret: first.secret };
}

/** The account and the target of an entry of the audit log about an endpoint: the path of a URL may be a secret. */
const ofEndpoint = ({ user_id, id, url }: WebhookEndpointRow) => ({
  account_id: user_id,
  targets: [{ type: "webhook_endpoint", id, name: new URL(url).host }],
});

const recordable = ({ url, ...fields }: Partial<UpdateWebhookEndpoint>) => ({
  ...fields,
  ...(url !== undefined && { host: new URL(url).host }),
});

/** Lists the caller's own endpoints, newest first. */
export async function listEndpoints(
  services: Services,
  caller: Caller,
  request: PageRequest,
): Promise<Page<WebhookEndpoint>> {
  await requireEndpoints(services, caller);
  const { user_id } = caller;
  return paginate(services, request, {
    name: `webhook_endpoints/${user_id}`,
    find: (keyset) => endpointsOf(services.db, user_id, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.webhookEndpoint,
  });
}

/** @throws ProblemError not_found, also for another user's */
export async function readEndpoint(
  services: Services,
  caller: Caller,
  id: string,
): Promise<WebhookEndpointRow> {
  await requireEndpoints(services, caller);
  const row = await findOwnEndpoint(services.db, caller.user_id, id);
  if (!row) throw endpointNotFound(id);
  return row;
}

/** @throws ValidationFailure for a URL that is not allowed; ProblemError not_found */
export async function updateEndpoint(
  services: Services,
  caller: Caller,
  id: string,
  request: UpdateWebhookEndpoint,
): Promise<WebhookEndpointRow> {
  const row = await readEndpoint(services, caller, id);
  if (Object.keys(request).length === 0) return row;
  if (request.url !== undefined) await checkUrl(services, request.url);
  const changes = { ...request, ...clearedHealth(row, request) };
  const entry = auditEntry({
    action: "webhook_endpoint.updated",
    ...ofEndpoint(row),
    before: { ...row, ...recordable({ url: row.url }) },
    after: recordable(request),
  });
  const updated = await updateRow(services.db, caller.user_id, id, changes, Date.now(), entry);
  if (!updated) throw endpointNotFound(id);
  await encryptPlainSecrets(services, updated);
  forgetEndpoints(caller.user_id, id);
  return updated;
}

function clearedHealth(
  { url }: WebhookEndpointRow,
  request: UpdateWebhookEndpoint,
): EndpointChanges {
  const failures = { failing_since: null, last_error: null };
  if (request.enabled) return { ...failures, notice: null };
  return request.url === undefined || request.url === url ? {} : failures;
}

/** Deletes an endpoint, whose waiting deliveries fail. @throws ProblemError not_found */
export async function deleteEndpoint(
  services: Services,
  caller: Caller,
  id: string,
): Promise<void> {
  const row = await readEndpoint(services, caller, id);
  const { user_id } = caller;
  const entry = auditEntry({ action: "webhook_endpoint.deleted", ...ofEndpoint(row) });
  if (!(await deleteRow(services.db, user_id, id, entry))) throw endpointNotFound(id);
  forgetEndpoints(user_id, id);
}

/** Adds a secret, which is not shown again. @throws ProblemError not_found, conflict */
export async function createSecret(
  services: Services,
  caller: Caller,
  id: string,
): Promise<EndpointSecret> {
  const endpoint = await readEndpoint(services, caller, id);
  const secret = newSecret(Date.now());
  const stored = await storedForEndpoint(services.settings.secretKeys, id, secret);
  const entry = auditEntry({
    action: "webhook_endpoint.updated",
    ...ofEndpoint(endpoint),
    after: { added_secret: secret.id },
  });
  const row = await addSecret(services.db, caller.user_id, id, stored, MAX_SECRETS, entry);
  if (!row) {
    await readEndpoint(services, caller, id);
    throw conflict(
      `An endpoint can have at most ${MAX_SECRETS} secrets. Delete one that its receiver no longer uses.`,
    );
  }
  await encryptPlainSecrets(services, row);
  forgetEndpoints(caller.user_id, id);
  return secret;
}

/** @throws ProblemError not_found, conflict for the last one */
export async function deleteSecret(
  services: Services,
  caller: Caller,
  id: string,
  secretId: string,
): Promise<void> {
  const endpoint = await readEndpoint(services, caller, id);
  const entry = auditEntry({
    action: "webhook_endpoint.updated",
    ...ofEndpoint(endpoint),
    after: { removed_secret: secretId },
  });
  const row = await removeSecret(services.db, caller.user_id, id, secretId, Date.now(), entry);
  if (!row) {
    const { secrets } = await readEndpoint(services, caller, id);
    if (!secrets.some((secret) => secret.id === secretId)) {
      throw notFound(`The secret '${secretId}'`);
    }
    throw conflict(
      "This is the endpoint's only secret. Create another, add it to the receiver, then delete this one.",
    );
  }
  await encryptPlainSecrets(services, row);
  forgetEndpoints(caller.user_id, id);
}

/** Encrypts secrets that were stored before the deployment had a SECRET_KEY. */
async function encryptPlainSecrets(
  { db, settings: { secretKeys } }: Services,
  row: WebhookEndpointRow,
): Promise<void> {
  if (secretKeys.length === 0 || row.secrets.every(({ encrypted }) => encrypted)) return;
  const encrypting = row.secrets.map((one) => storedForEndpoint(secretKeys, row.id, one));
  await replaceSecrets(db, row, await Promise.all(encrypting));
}

/**
 * Refuses a URL that is not allowed or does not resolve; each delivery checks it again. If the
 * resolver fails the URL is accepted, since it may be right.
 * @throws ValidationFailure
 */
async function checkUrl({ settings }: Services, address: string): Promise<void> {
  const signal = AbortSignal.timeout(RESOLVE_MS);
  const checking = checkResolvedUrl(new URL(address), settings.webhooks, signal);
  const refusal = await checking.catch((error: unknown) => {
    if (error instanceof ResolutionFailed) return undefined;
    throw error;
  });
  if (refusal) throw invalid(["body", "url"], refusal, "value_error", address);
}

/** Refuses tokens limited to some models: endpoints get events of all. @throws ProblemError forbidden */
const requireEndpoints = (services: Services, caller: Caller): Promise<void> =>
  requireCurrentAccess(services, caller, "Webhook endpoints", "developer");

const newSecret = (now: number): EndpointSecret => ({
  id: uuid(),
  secret: newWebhookSecret(),
  created_at: now,
});

export const endpointNotFound = (id: string) => notFound(`The webhook endpoint '${id}'`);
