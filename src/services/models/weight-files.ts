/**
 * The files that a version names as weights (`configuration.weights`): uploads of the model's owner, which the
 * version keeps. Those of a collaborator become the owner's with the version.
 */
import { accessToUpload } from "../../domain/accounts/access.ts";
import { invalid, type Loc } from "../../domain/schemas/validation.ts";
import { conflict } from "../../errors/errors.ts";
import { byteText } from "../../lib/text.ts";
import { uuid } from "../../protocol/common.ts";
import type { Configuration } from "../../protocol/model.ts";
import { overlapProblem, type WeightFile } from "../../protocol/weights.ts";
import {
  findOwnUploads,
  findUploadsOf,
  findVersionOfUploads,
  keepUploads,
  type MovedUploads,
  type UploadRow,
} from "../../storage/files/uploads.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { WORK_MS } from "../predictions/inline-files.ts";
import type { Services } from "../services.ts";

/** The path of an upload, or that of its file, on any host: a deployment may have several. */
const ADDRESS =
  /^(?:https?:\/\/[^/]+)?\/v1\/(?:uploads\/([^/?]+)|files\/([^/]+)\/[^/?]+(?:\?.*)?)$/;

/** How long the uploads of a version that is being deleted are kept for the runs that are under way. */
export const keptUntil = ({ settings }: Services): number =>
  Date.now() + settings.retentionSeconds * 1_000 + WORK_MS;

export interface NamedFiles {
  configuration: Configuration;
  files: WeightFile[];
  /** The files of a collaborator among them. */
  moved: MovedUploads | undefined;
}

/**
 * Replaces the addresses of uploads in a configuration by their ids: the signature of an address belongs to
 * its caller only.
 * @throws ValidationFailure for what is not a completed upload of the caller, or of a version of the model
 * @throws ProblemError forbidden for one outside the token's scope
 */
export async function namedFiles(
  services: Services,
  caller: Caller,
  { id: modelId, owner }: Pick<DetailedModelRow, "id" | "owner">,
  configuration: Configuration,
): Promise<NamedFiles> {
  const { weights = [] } = configuration;
  if (weights.length === 0) return { configuration, files: [], moved: undefined };
  const ids = weights.map(({ file }, n) => uploadId(file, n));
  const { db } = services;
  const isOwner = caller.user_id === owner.id;
  const [own, kept] = await Promise.all([
    inPages(ids, (page) => findOwnUploads(db, caller.user_id, page)),
    isOwner ? [] : inPages(ids, (page) => findUploadsOf(db, modelId, page)),
  ]);
  const found = new Map([...kept, ...own].map((row) => [row.id, row]));
  for (const row of own) {
    await requireAccess(services, caller, accessToUpload(caller, row), `The upload '${row.id}'`);
  }
  const files = weights.map(({ target }, n): WeightFile => {
    const id = ids[n] ?? "";
    const row = found.get(id);
    if (!row)
      throw invalid(
        placeOf(n),
        `the upload '${id}' was not found, or you do not have access to it`,
      );
    if (row.completed_at !== null) return { target, id, key: row.key, size: row.size };
    throw invalid(
      placeOf(n),
      `the upload '${id}' is not complete. POST its ETags to /v1/uploads/${id}/complete first`,
    );
  });
  // Uploads that expire soon are kept until the version names them.
  const until = Date.now() + services.settings.retentionSeconds * 1_000;
  const extended = await inPages([...found.keys()], (page) => keepUploads(db, page, until));
  const there = new Set(extended.map(({ id }) => id));
  const gone = ids.findIndex((id) => !there.has(id));
  if (gone >= 0) throw fileGone(gone);
  const named = weights.map(({ target }, n) => ({ target, file: ids[n] ?? "" }));
  const moved = isOwner || own.length === 0 ? undefined : await movedTo(services, owner.id, own);
  return { configuration: { ...configuration, weights: named }, files, moved };
}

/** @throws ValidationFailure for an upload that a version of another model keeps */
async function movedTo(
  services: Services,
  ownerId: string,
  rows: UploadRow[],
): Promise<MovedUploads> {
  const ids = rows.map(({ id }) => id);
  const used = await findVersionOfUploads(services.db, ids);
  if (used)
    throw invalid(
      WEIGHTS,
      `the upload '${used.id}' is used by ${used.owner}/${used.name}:${used.number}. Upload the file again, since the upload becomes the model owner's`,
    );
  const account = await findAccount(services, ownerId);
  const size = rows.reduce((sum, row) => sum + row.size, 0);
  const others = (await account?.declareUpload(size)) ?? 0;
  const max_bytes = services.settings.fileBytes - others;
  return { ids, from: rows[0]?.user_id ?? "", to: ownerId, max_bytes };
}

export const ownerHasNoRoom = ({ settings }: Services) =>
  conflict(
    `The files of the model's owner would exceed ${byteText(settings.fileBytes)}. Ask the owner to delete unused uploads and predictions, or the operator to raise FILES_GB.`,
  );

/** Reads in pages: a statement takes 100 parameters, and a version may have as many weights. */
async function inPages<Row>(
  ids: string[],
  find: (page: string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const half = Math.ceil(ids.length / 2);
  const pages = [ids.slice(0, half), ids.slice(half)].filter(({ length }) => length > 0);
  return (await Promise.all(pages.map(find))).flat();
}

/** Checks the targets of all weights of a version. @throws ValidationFailure */
export function checkOverlap(weights: { target: string }[]): void {
  const problem = overlapProblem(weights.map(({ target }) => target));
  if (problem) throw invalid(WEIGHTS, problem);
}

/** @param n the number of the file; undefined if it is not known */
export const fileGone = (n?: number) =>
  invalid(
    n === undefined ? WEIGHTS : placeOf(n),
    "the file was deleted. Upload it again and use the new upload",
  );

const WEIGHTS: Loc = ["body", "configuration", "weights"];

const placeOf = (n: number): Loc => [...WEIGHTS, String(n), "file"];

function uploadId(file: string, n: number): string {
  const [, upload, source] = ADDRESS.exec(file) ?? [];
  const id = uuid.safeParse(upload ?? source ?? file).data;
  if (id !== undefined) return id;
  throw invalid(
    placeOf(n),
    "this is not a file of the deployment: upload it with POST /v1/uploads, and name the upload's id or URL",
  );
}
