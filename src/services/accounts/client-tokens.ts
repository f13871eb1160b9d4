/** Issues client tokens and stream tokens. They are signed, so that nothing is written (services/access/signed-tokens.ts). */
import { v7 as uuid } from "uuid";
import { type ClientClaims, signToken } from "../../domain/accounts/signed-token.ts";
import { ProblemError } from "../../errors/errors.ts";
import {
  type ClientToken,
  type CreateClientToken,
  SIGNED_SECONDS,
  type StreamToken,
} from "../../protocol/client-token.ts";
import { amountText } from "../../protocol/money.ts";
import { signingKeys } from "../../storage/files/signed-file-urls.ts";
import type { Caller } from "../access/access.ts";
import { predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";
import { modelIds } from "./tokens.ts";

/** @throws ProblemError forbidden for a token of a web page or one that does not cover a model; ValidationFailure */
export async function createClientToken(
  services: Services,
  caller: Caller,
  { expires_in, models, origins, max_predictions, budget }: CreateClientToken,
): Promise<ClientToken> {
  const { client_id, limits, token_id: issuer } = caller;
  if (client_id !== undefined || limits?.origins)
    throw new ProblemError(
      "forbidden",
      "A token for web pages cannot create client tokens. Create them on your server, with an access token that web pages do not have.",
    );
  const ids = await modelIds(services.db, caller.user_id, models);
  if (caller.models && !ids.every((one) => caller.models?.includes(one)))
    throw new ProblemError(
      "forbidden",
      "This token does not cover all of these models, so its client tokens cannot either.",
    );
  const id = uuid();
  const expires_at = expiryOf(caller, expires_in);
  const claims: ClientClaims = {
    ...{ id, issuer, expires_at, models: ids, origins },
    ...{ max_predictions, budget },
  };
  const [key] = await signingKeys(services.settings, services.db);
  const token = signToken(key, "ausc", claims);
  return {
    ...{ id, token, models, origins },
    max_predictions: max_predictions ?? null,
    budget: budget === undefined ? null : amountText(budget),
    expires_at: new Date(expires_at).toISOString(),
  };
}

/** Returns the time at which a token ends that is issued now: at the latest with the token that issues it. */
const expiryOf = ({ expires_at, signed_until }: Caller, seconds = SIGNED_SECONDS): number =>
  Math.min(
    Date.now() + seconds * 1_000,
    expires_at ?? Number.POSITIVE_INFINITY,
    signed_until ?? Number.POSITIVE_INFINITY,
  );

/** Issues a token for the events of a prediction that the caller may read. @throws ProblemError not_found, forbidden */
export async function createStreamToken(
  services: Services,
  caller: Caller,
  prediction_id: string,
  origin: string,
  seconds?: number,
): Promise<StreamToken> {
  await predictionStub(services, caller, prediction_id);
  const { token_id: issuer, client_id } = caller;
  const expires_at = expiryOf(caller, seconds);
  const [key] = await signingKeys(services.settings, services.db);
  const token = signToken(key, "ause", { issuer, expires_at, prediction_id, client_id });
  return {
    token,
    url: `${origin}/v1/predictions/${prediction_id}/stream?token=${token}`,
    expires_at: new Date(expires_at).toISOString(),
  };
}
