/**
 * Links to single predictions, which their owners share: anybody with the link sees the prediction until it
 * expires or is revoked, its data is removed, or the account is suspended or deleted.
 */
import { isToken, newToken, sha256 } from "../../domain/accounts/token.ts";
import { isSentName } from "../../domain/files/file-name.ts";
import {
  namesFile,
  OWN_SOURCE,
  sharedInput,
  withSharedFiles,
} from "../../domain/predictions/shared-content.ts";
import { hiddenFieldsOf } from "../../domain/schemas/secret-fields.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import type { Json } from "../../protocol/common.ts";
import { fileKey } from "../../storage/files/files.ts";
import { findVersion } from "../../storage/models/versions.ts";
import {
  deleteExpiredShares as deleteExpired,
  deleteShare,
  findOwnShare,
  findShare,
  insertShare,
  listSharesOf,
  type ShareRow,
  listShares as sharesOf,
} from "../../storage/shares/shares.ts";
import type { Caller } from "../access/access.ts";
import { auditEntry } from "../audit/record.ts";
import { fileResponse } from "../files/file-response.ts";
import { accessToSource } from "../files/files.ts";
import { signedFileUrl } from "../files/signed-urls.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { type PredictionView, viewPrediction } from "../predictions/prediction-view.ts";
import { findOwnPrediction, predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

/** How long a file may still be read at the origin of the files, where that is another. */
const REDIRECT_SECONDS = 300;

/** Shares per account, without those that have expired. */
const MAX_SHARES = 100;
const DAY_MS = 86_400_000;

/**
 * @returns its token, which is not shown again
 * @throws ProblemError not_found; conflict while it runs, after its data was removed, and for too many
 */
export async function createShare(
  services: Services,
  caller: Caller,
  predictionId: string,
  days: number,
): Promise<{ token: string; expires_at: number }> {
  const row = await findOwnPrediction(services, caller, predictionId);
  // The object is asked itself: the prediction's row may be behind.
  const snapshot = await (await predictionStub(services, caller, predictionId)).get(0);
  if (row.data_removed || !snapshot)
    throw conflict("The prediction's data was removed, so it cannot be shared.");
  if (!snapshot.terminal) throw conflict("The prediction has not ended. Share it once it has.");
  const { owner, name } = services.present.prediction(row, "").model;
  const token = newToken("auss");
  const created_at = Date.now();
  const expires_at = created_at + days * DAY_MS;
  const share: ShareRow = {
    // The id is random, unlike other ids: it does not tell when the share was made.
    id: crypto.randomUUID(),
    user_id: caller.user_id,
    prediction_id: predictionId,
    model: `${owner}/${name}`,
    hash: await sha256(token),
    created_at,
    expires_at,
  };
  const entry = auditEntry({
    action: "link.created",
    ...ofShare(share),
    after: { expires_at: new Date(expires_at).toISOString() },
  });
  if (!(await insertShare(services.db, share, MAX_SHARES, entry)))
    throw conflict(
      `An account can have at most ${MAX_SHARES} links. Revoke one at /account/shares.`,
    );
  return { token, expires_at };
}

/** The account and the targets of an entry of the audit log about a link: never its token. */
const ofShare = ({ id, user_id, prediction_id, model }: ShareRow) => ({
  account_id: user_id,
  targets: [
    { type: "link", id, name: model },
    { type: "prediction", id: prediction_id, name: prediction_id },
  ],
});

/** Lists shares, newest first, also those that expired within the last minutes. */
export const listShares = (
  services: Services,
  { user_id }: Caller,
  request: PageRequest,
): Promise<Page<ShareRow>> =>
  paginate(services, request, {
    name: `shares/${user_id}`,
    find: (keyset) => sharesOf(services.db, user_id, keyset),
    keyOf: ({ created_at, id }) => [created_at, id],
    present: (row) => row,
  });

export const readShares = ({ db }: Services, { user_id }: Caller, predictionId: string) =>
  listSharesOf(db, user_id, predictionId, Date.now());

/** @throws ProblemError not_found */
export async function revokeShare(services: Services, caller: Caller, id: string): Promise<void> {
  const { db } = services;
  const share = await findOwnShare(db, caller.user_id, id);
  if (!share) throw linkNotFound();
  const entry = auditEntry({ action: "link.revoked", ...ofShare(share) });
  if (!(await deleteShare(db, caller.user_id, id, entry))) throw linkNotFound();
}

const linkNotFound = () => notFound("This link");

export const sweepShares = async ({ db }: Services, now: number): Promise<void> => {
  await deleteExpired(db, now);
};

/**
 * Returns the share that a token opens. It is looked up by its hash, so that the time of a look-up does not
 * tell how much of the token is right.
 */
async function openShare(services: Services, token: string): Promise<ShareRow> {
  const share = isToken(token, "auss")
    ? await findShare(services.db, await sha256(token), Date.now())
    : undefined;
  if (!share) throw shareGone();
  return share;
}

/** The error for a link that opens nothing; it does not tell the reason. */
export const shareGone = () =>
  new ProblemError(
    "not_found",
    "This link has expired, was revoked, or is incomplete. Ask the sender for a new one.",
  );

/** The caller as which a share is read: its owner. The share's reads are limited to its prediction. */
const ownerOf = ({ id, user_id }: ShareRow): Caller => ({
  token_id: id,
  user_id,
  maker: "",
  role: "owner",
  scopes: ["read"],
  models: null,
  priority: null,
});

export interface SharedView
  extends Pick<PredictionView, "output" | "beginning" | "omitted" | "display"> {
  status: PredictionView["prediction"]["status"];
  /** The model without its owner, who may be the one that shares the prediction. */
  model: { name: string; version: number };
  created_at: string;
  execution_time: string | null;
  expires_at: number;
  /** Undefined when the input is too large for a page, or when it is not known which fields are secret. */
  input: { [name: string]: Json } | undefined;
}

/** @throws ProblemError not_found */
export async function readShared(
  services: Services,
  token: string,
  origin: string,
): Promise<SharedView> {
  const share = await openShare(services, token);
  const { prediction_id: id } = share;
  const owner = ownerOf(share);
  const [row, view] = await Promise.all([
    findOwnPrediction(services, owner, id),
    viewPrediction(services, owner, id, origin, { hasLogs: false }),
  ]).catch(hidden);
  if (view.dataRemoved) throw shareGone();
  const version = await findVersion(services.db, row.model_id, row.version_number);
  const place = {
    predictionId: id,
    origins: [origin, services.settings.filesOrigin],
    address: `${origin}/shared/${token}`,
  };
  const shared = <Value extends Json>(value: Value): Value =>
    JSON.parse(withSharedFiles(JSON.stringify(value), place));
  const input =
    version &&
    sharedInput(view.displayInput, hiddenFieldsOf(versionSchema(version.schemas, "input")));
  const { status, model, created_at, execution_time } = view.prediction;
  return {
    status,
    model: { name: model.name, version: model.version_number },
    created_at,
    execution_time,
    expires_at: share.expires_at,
    output: shared(view.output),
    beginning: view.beginning && {
      ...view.beginning,
      text: shared(view.beginning.text),
    },
    omitted: view.omitted,
    display: view.display,
    input: input && shared(input),
  };
}

/** Returns a file that the prediction has made, or that was sent to it. @throws ProblemError not_found */
export async function readSharedFile(
  services: Services,
  { token, source, name }: { token: string; source: string; name: string },
  request: Request,
  origin: string,
): Promise<Response> {
  const share = await openShare(services, token);
  const file = { source: source === OWN_SOURCE ? share.prediction_id : source, name };
  if (!(await isOfShare(services, share, file))) throw shareGone();
  const key = fileKey(file.source, name);
  const { filesOrigin } = services.settings;
  if (filesOrigin === undefined) return fileResponse(services, key, request);
  const expires = Math.min(Date.now() + REDIRECT_SECONDS * 1_000, share.expires_at);
  return Response.redirect(await signedFileUrl(services, origin, key, expires), 302);
}

async function isOfShare(
  services: Services,
  share: ShareRow,
  { source, name }: { source: string; name: string },
): Promise<boolean> {
  const owner = ownerOf(share);
  const row = await findOwnPrediction(services, owner, share.prediction_id).catch(hidden);
  if (row.data_removed) return false;
  if (source === share.prediction_id) {
    if (!isSentName(name)) return true;
    // An input may name a file that does not belong to its sender.
  } else if ((await accessToSource(services, owner, source)) !== "granted") return false;
  const version = await findVersion(services.db, row.model_id, row.version_number);
  const history = await (await predictionStub(services, owner, share.prediction_id)).history(false);
  if (!version || history?.input == null) return false;
  // A file that only a secret field names is not shared.
  const isSecret = hiddenFieldsOf(versionSchema(version.schemas, "input"));
  const shown = JSON.stringify(sharedInput(JSON.parse(history.input), isSecret) ?? {});
  return namesFile(shown, source, name);
}

/** The error does not say why the prediction is not there. */
function hidden(error: unknown): never {
  throw error instanceof ProblemError && error.code === "not_found" ? shareGone() : error;
}
