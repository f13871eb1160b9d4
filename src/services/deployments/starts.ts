/** Starts containers of deployments by predictions of their account. */
import { WARM_UP } from "../../domain/accounts/usage.ts";
import { callOf } from "../../domain/openai/call.ts";
import { ValidationFailure } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import { predictionWithId } from "../../objects/stubs/prediction.ts";
import type { ReleaseConfiguration } from "../../protocol/deployment.ts";
import { recordFailed, type ToldRow } from "../../storage/deployments/claims.ts";
import type { Caller } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { createResolved } from "../predictions/create-prediction.ts";
import { findRelease } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";

/** How long a probe may take. After that it is made again: the message of its end may be lost. */
export const PROBE_MS = 2 * 3_600_000;

/** Refusals that end by themselves, such as that of a queue that is full: the sweep tries again. */
const PASSING = ["unavailable", "too_many_requests"];

/**
 * Creates a prediction that starts a container of a release.
 * @param probe its input; null: the container is only started
 * @returns whether the prediction was created
 */
export async function startContainer(
  services: Services,
  row: ToldRow,
  probe: ReleaseConfiguration["probe"],
): Promise<boolean> {
  const { owner_id, owner, name, number, deployment_id, created_by } = row;
  const target = await findRelease(services, owner_id, { owner, name, number });
  if (!target) return false;
  // The budget of the member who asks for a probe applies to it, as to other runs; starts are the account's.
  const maker = probe && created_by !== null && created_by !== owner_id ? created_by : "";
  const caller: Caller = {
    ...{ user_id: owner_id, maker, role: "owner", ...WARM_UP },
    ...{ scopes: ["predict"], priority: null, models: null },
  };
  const input = probe?.input ?? {};
  const call = probe ? callOf(target.version, input) : null;
  const request = { input, stream: false };
  const order = { reference: `${owner}/${name}`, target, call, request };
  const origin = services.settings.alerts.origin ?? "http://localhost";
  try {
    await createResolved(services, caller, order, {
      ...{ origin, validateInput: false, waitSeconds: 0, cancelAfterSeconds: null, starts: true },
      ...(!probe && { warmUp: true }),
    });
    return true;
  } catch (error) {
    logger.warn("Container of a deployment not started", { deployment_id, release: number, error });
    // A refusal that the account can change, such as that of a budget or an input, is a failure of the release.
    const isRefusal = error instanceof ProblemError || error instanceof ValidationFailure;
    if (!isRefusal || ("code" in error && PASSING.includes(error.code))) return false;
    await recordFailed(services.db, deployment_id, number, error.message, Date.now());
    return false;
  }
}

/**
 * Cancels the starts and probes of a deployment, but for those of releases that run or start. Never rejects: the
 * change has been made, and a start that is missed runs to its end.
 */
export async function cancelStarts(
  services: Services,
  { id, owner_id }: { id: string; owner_id: string },
  ...kept: ({ number: number } | undefined)[]
): Promise<void> {
  const notCanceled = (error: unknown) =>
    logger.warn("Start not canceled", { deployment_id: id, error });
  try {
    const account = await findAccount(services, owner_id);
    const rows = (await account?.unfinishedStarts(id)) ?? [];
    const ended = rows.filter(({ release }) => !kept.some((one) => one?.number === release));
    await Promise.all(
      ended.map(({ object_id }) =>
        predictionWithId(services.env, object_id)
          ?.cancel("its release was given up")
          .catch(notCanceled),
      ),
    );
  } catch (error) {
    notCanceled(error);
  }
}
