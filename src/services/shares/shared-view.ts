/** A shared prediction as its link shows it, and its files. */
import { isSentName } from "../../domain/files/file-name.ts";
import {
  namesFile,
  OWN_SOURCE,
  sharedInput,
  withSharedFiles,
} from "../../domain/predictions/shared-content.ts";
import { hiddenFieldsOf } from "../../domain/schemas/secret-fields.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { Json } from "../../protocol/common.ts";
import { fileKey } from "../../storage/files/files.ts";
import { findVersion } from "../../storage/models/versions.ts";
import type { ShareRow } from "../../storage/shares/shares.ts";
import { fileResponse } from "../files/file-response.ts";
import { accessToSource } from "../files/files.ts";
import { signedFileUrl } from "../files/signed-urls.ts";
import { type PredictionView, viewPrediction } from "../predictions/prediction-view.ts";
import { findOwnPrediction, predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";
import { openShare, ownerOf, shareGone } from "./shares.ts";

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

/** How long a file may still be read at the origin of the files, where that is another. */
const REDIRECT_SECONDS = 300;

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
