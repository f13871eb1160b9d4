/** Endpoints of accounts: registering, reading, changing and deleting them, and their secrets. */
import { v7 as uuid } from "uuid";
import { invalid } from "../../domain/schemas/validation.ts";
import { newWebhookSecret } from "../../domain/webhooks/signature.ts";
import { storedForEndpoint } from "../../domain/webhooks/stored-secret.ts";
import { conflict, notFound } from "../../errors.ts";
import { refusalNow } from "../../outbound/refusal.ts";
import { Unresolved } from "../../outbound/resolve.ts";
import type {
  CreateWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
} from "../../protocol/webhook-endpoint.ts";
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
import { requireAccountAccess } from "../accounts/access.ts";
import type { Caller } from "../accounts/caller.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";

/**
 * Of an account. A prediction's object has six connections out at most: four slow receivers leave
 * one for the prediction's own webhook, and one for its own work.
 */
const MAX_ENDPOINTS = 4;

/** Whoever registers an endpoint is not kept longer by a resolver that does not answer. */
const RESOLVE_MS = 2_000;

/** One in use, one that comes, and one for a mistake in between. */
const MAX_SECRETS = 3;

/**
 * @returns with its first secret, which is shown this once
 * @throws ValidationFailure for an address that nothing may be posted to
 * @throws ProblemError conflict
 */
export async function createEndpoint(
  services: Services,
  caller: Caller,
  request: CreateWebhookEndpoint,
): Promise<{ row: WebhookEndpointRow; secret: string }> {
  await requireEndpoints(services, caller);
  const { user_id } = caller;
  await checkReceiver(services, request.url);
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
  if (!(await insertEndpoint(services.db, row, MAX_ENDPOINTS))) {
    throw conflict(
      `An account may have ${MAX_ENDPOINTS} webhook endpoints. Delete one, or change one with PATCH /v1/webhook-endpoints/{endpoint_id}; a single prediction can name a receiver of its own with 'webhook'.`,
    );
  }
  forgetEndpoints(user_id);
  return { row, secret: first.secret };
}

/** An account's own, newest first. */
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

/** @throws ProblemError not_found, also for what is somebody else's */
export async function readEndpoint(
  services: Services,
  caller: Caller,
  id: string,
): Promise<WebhookEndpointRow> {
  await requireEndpoints(services, caller);
  const row = await findOwnEndpoint(services.db, caller.user_id, id);
  if (!row) throw missing(id);
  return row;
}

/** @throws ValidationFailure for an address that nothing may be posted to; ProblemError not_found */
export async function updateEndpoint(
  services: Services,
  caller: Caller,
  id: string,
  request: UpdateWebhookEndpoint,
): Promise<WebhookEndpointRow> {
  const row = await readEndpoint(services, caller, id);
  if (Object.keys(request).length === 0) return row;
  if (request.url !== undefined) await checkReceiver(services, request.url);
  const changes = { ...request, ...forgiven(row, request) };
  const updated = await updateRow(services.db, caller.user_id, id, changes, Date.now());
  if (!updated) throw missing(id);
  await sealOlder(services, updated);
  forgetEndpoints(caller.user_id, id);
  return updated;
}

/** What was held against the receiver that it was. */
function forgiven({ url }: WebhookEndpointRow, request: UpdateWebhookEndpoint): EndpointChanges {
  const failures = { failing_since: null, last_error: null };
  if (request.enabled) return { ...failures, notice: null };
  return request.url === undefined || request.url === url ? {} : failures;
}

/** Deliveries that wait for it fail for good. @throws ProblemError not_found */
export async function deleteEndpoint(
  services: Services,
  caller: Caller,
  id: string,
): Promise<void> {
  await requireEndpoints(services, caller);
  const { user_id } = caller;
  if (!(await deleteRow(services.db, user_id, id))) throw missing(id);
  forgetEndpoints(user_id, id);
}

/** Another one, which is shown this once. @throws ProblemError not_found, conflict */
export async function createSecret(
  services: Services,
  caller: Caller,
  id: string,
): Promise<EndpointSecret> {
  await requireEndpoints(services, caller);
  const secret = newSecret(Date.now());
  const stored = await storedForEndpoint(services.settings.secretKeys, id, secret);
  const row = await addSecret(services.db, caller.user_id, id, stored, MAX_SECRETS);
  if (!row) {
    await readEndpoint(services, caller, id);
    throw conflict(
      `An endpoint may have ${MAX_SECRETS} secrets. Delete one that its receiver does not know any more.`,
    );
  }
  await sealOlder(services, row);
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
  await requireEndpoints(services, caller);
  const row = await removeSecret(services.db, caller.user_id, id, secretId, Date.now());
  if (!row) {
    const { secrets } = await readEndpoint(services, caller, id);
    if (!secrets.some((secret) => secret.id === secretId)) {
      throw notFound(`The secret '${secretId}'`);
    }
    throw conflict(
      "It is the endpoint's only secret. Make another one first, tell its receiver, then delete this one.",
    );
  }
  await sealOlder(services, row);
  forgetEndpoints(caller.user_id, id);
}

/** Seals what was kept as it is before there was a SECRET_KEY. */
async function sealOlder(
  { db, settings: { secretKeys } }: Services,
  row: WebhookEndpointRow,
): Promise<void> {
  if (secretKeys.length === 0 || row.secrets.every(({ encrypted }) => encrypted)) return;
  const sealing = row.secrets.map((one) => storedForEndpoint(secretKeys, row.id, one));
  await replaceSecrets(db, row, await Promise.all(sealing));
}

/**
 * A mistake is told at once where it can be, a name that does not exist too; each try looks again.
 * When nobody can tell just now, the name may be right, so it is taken.
 * @throws ValidationFailure
 */
async function checkReceiver({ settings }: Services, address: string): Promise<void> {
  const signal = AbortSignal.timeout(RESOLVE_MS);
  const asking = refusalNow(new URL(address), settings.webhooks, signal);
  const refusal = await asking.catch((error: unknown) => {
    if (error instanceof Unresolved) return undefined;
    throw error;
  });
  if (refusal) throw invalid(["body", "url"], refusal, "value_error", address);
}

/** They are told of every run. @throws ProblemError forbidden */
const requireEndpoints = (services: Services, caller: Caller): Promise<void> =>
  requireAccountAccess(services, caller, "Webhook endpoints");

const newSecret = (now: number): EndpointSecret => ({
  id: uuid(),
  secret: newWebhookSecret(),
  created_at: now,
});

const missing = (id: string) => notFound(`The webhook endpoint '${id}'`);
