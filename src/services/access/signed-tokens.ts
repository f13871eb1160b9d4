/**
 * Client tokens and stream tokens: issued by an access token and signed, so that neither the issue nor the use
 * writes anything. They end with the access token, whose row every use reads through a cache of 10 s.
 */
import { readSignedToken } from "../../domain/accounts/signed-token.ts";
import { ProblemError } from "../../errors/errors.ts";
import { findIssuer } from "../../storage/accounts/reader-access.ts";
import { signingKeys } from "../../storage/files/signed-file-urls.ts";
import type { Services } from "../services.ts";
import type { Caller } from "./access.ts";
import { rememberAccountObject } from "./accounts.ts";

/**
 * Resolves a client token. It has the role and the priority of its issuer, and counts against its limits; it only
 * runs its models, for its web pages, and reaches only what it created.
 * @param maxAgeMs how old a cached check of the issuer may be
 * @throws ProblemError unauthenticated
 */
export async function authenticateClient(
  services: Services,
  token: string,
  maxAgeMs?: number,
): Promise<Caller> {
  const keys = await signingKeys(services.settings, services.db);
  const claims = readSignedToken(keys, "ausc", token);
  if (!claims || claims.expires_at <= Date.now()) throw ended("client token");
  const issuer = await issuerOf(services, claims, "client token", maxAgeMs);
  const { requests_per_minute, predictions_per_minute, max_running, endpoints, origins } =
    issuer.limits ?? {};
  const covered = issuer.models;
  const { id, max_predictions = null, budget = null } = claims;
  const isLimited = max_predictions !== null || budget !== null;
  return {
    ...issuer,
    scopes: issuer.scopes.filter((scope) => scope === "predict"),
    models: claims.models.filter((id) => covered === null || covered.includes(id)),
    limits: {
      ...{ requests_per_minute, predictions_per_minute, max_running },
      endpoints: (endpoints ?? ["predictions"]).filter((one) => one === "predictions"),
      origins: claims.origins.filter((one) => origins?.includes(one) ?? true),
    },
    is_operator: false,
    client_id: id,
    ...(isLimited && { client_limits: { id, max_predictions, budget } }),
    signed_until: claims.expires_at,
  };
}

/** Resolves a stream token: its issuer, for this prediction alone. @throws ProblemError unauthenticated, forbidden */
export async function authenticateStream(
  services: Services,
  token: string,
  predictionId: string,
): Promise<Caller> {
  const keys = await signingKeys(services.settings, services.db);
  const claims = readSignedToken(keys, "ause", token);
  if (!claims || claims.expires_at <= Date.now()) throw ended("stream token");
  if (claims.prediction_id !== predictionId.toLowerCase())
    throw new ProblemError("forbidden", "This stream token is for another prediction.");
  const issuer = await issuerOf(services, claims, "stream token");
  return {
    ...issuer,
    scopes: [],
    is_operator: false,
    signed_until: claims.expires_at,
    ...(claims.client_id !== undefined && { client_id: claims.client_id }),
  };
}

async function issuerOf(
  { db }: Services,
  claims: { issuer: string },
  kind: string,
  maxAgeMs?: number,
): Promise<Caller> {
  const found = await findIssuer(db, claims.issuer, maxAgeMs);
  if (!found) throw ended(kind);
  const { token_id, name, user_id, maker, maker_name, role } = found;
  const { scopes, models, priority, limits } = found;
  rememberAccountObject(user_id, found.account_object);
  return {
    ...{ token_id, token_name: name, user_id, maker, maker_name, role },
    ...{ scopes, models, priority, limits },
  };
}

const ended = (kind: string) =>
  new ProblemError(
    "unauthenticated",
    `The ${kind} is invalid or has expired, or the access token that issued it has ended. Ask your server for another.`,
  );
