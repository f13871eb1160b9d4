/** Completing an upload: its parts become a file. Idempotent, also under concurrent calls. */

import { fault, issueAt, ValidationFailure } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { areUtf8Parts } from "../../lib/utf8-check.ts";
import type { ValidationIssue } from "../../protocol/common.ts";
import { partCount } from "../../protocol/upload.ts";
import { completeMultipart, headFile, isStale } from "../../storage/files/files.ts";
import {
  completeUpload as completeRow,
  findUpload,
  listParts,
  type UploadPartRow,
  type UploadRow,
} from "../../storage/files/uploads.ts";
import type { Caller } from "../access/access.ts";
import { chargeRows } from "../access/write-limit.ts";
import type { Services } from "../services.ts";
import { forgetUpload, getUpload, rowsOfParts } from "./uploads.ts";

/** How many missing parts an error lists. */
const MAX_LISTED = 10;

/**
 * @returns the updated row
 * @throws ProblemError not_found, conflict while a part is missing or has changed
 * @throws ValidationFailure for ETags that are not those of the parts
 */
export async function completeUpload(
  services: Services,
  caller: Caller,
  id: string,
  etags: string[],
): Promise<UploadRow> {
  const row = await getUpload(services, caller, id);
  if (row.completed_at !== null) return row;
  await chargeRows(services, rowsOfParts(row));
  const is_utf8 = await assembleParts(services, row, etags);
  const expires_at = Date.now() + services.settings.retentionSeconds * 1000;
  return markComplete(services, id, { expires_at, is_utf8 });
}

/** @throws ProblemError not_found when it has been removed */
export async function markComplete(
  { db }: Services,
  id: string,
  change: Pick<UploadRow, "expires_at" | "is_utf8">,
): Promise<UploadRow> {
  await completeRow(db, id, { completed_at: Date.now(), ...change });
  forgetUpload(id);
  const completed = await findUpload(db, id);
  if (!completed) throw notFound(`The upload '${id}'`);
  return completed;
}

/**
 * Completes the multipart upload in R2.
 * @returns whether it is a text whose bytes are UTF-8
 * @throws as completeUpload
 */
export async function assembleParts(
  services: Services,
  row: UploadRow,
  etags: string[],
): Promise<boolean> {
  const parts = await listParts(services.db, row.id);
  // No parts are left when a concurrent completion finished, or an interrupted one got this far.
  if (parts.length === 0 && (await isWhole(services, row))) return false;
  const bare = etags.map((etag) => etag.replace(/^(?:W\/)?"(.*)"$/, "$1"));
  requireAll(row, parts, bare.length);
  const isUtf8 =
    parts.every(({ etag }, n) => etag === bare[n]) &&
    areUtf8Parts(parts.map(({ utf8_edges }) => utf8_edges));
  try {
    if (await completeMultipart(services.env.FILES, row, bare)) return isUtf8;
  } catch (error) {
    // R2 checks the ETags: after two concurrent uploads of a part, our row may have the wrong one.
    const issues = etagIssues(bare, parts);
    if (issues.length > 0) throw new ValidationFailure(issues);
    if (!isStale(error)) throw error;
    // Our rows cannot tell which of two concurrent uploads R2 kept; another upload of the part settles it.
    throw conflict(
      "A part was uploaded twice at the same time. Upload it again, then complete with its ETag.",
    );
  }
  if (!(await isWhole(services, row))) throw conflict("The upload was deleted.");
  return isUtf8;
}

const isWhole = async ({ env }: Services, { key, size }: UploadRow) =>
  (await headFile(env.FILES, key))?.size === size;

/** Each part's length was checked on arrival, so that all parts together have the declared size. */
function requireAll(row: UploadRow, parts: UploadPartRow[], etags: number): void {
  const count = partCount(row.size, row.part_size);
  const arrived = new Map(parts.map(({ part_number, etag }) => [part_number, etag]));
  const numbers = Array.from({ length: count }, (_, n) => n + 1);
  const missing = numbers.filter((number) => !arrived.has(number));
  if (missing.length > 0) {
    const named = missing.slice(0, MAX_LISTED).join(", ");
    const more = missing.length > MAX_LISTED ? ` and ${missing.length - MAX_LISTED} more` : "";
    throw conflict(
      `${missing.length} of ${count} parts are missing: ${named}${more}. PUT them to their URLs, then complete again.`,
    );
  }
  if (etags === count) return;
  const context = { field_type: "List", min_length: count, max_length: count };
  const type = etags < count ? "too_short" : "too_long";
  throw new ValidationFailure([issueAt(["body", "etags"], fault(type, context))]);
}

function etagIssues(etags: string[], parts: UploadPartRow[]): ValidationIssue[] {
  return parts.flatMap(({ part_number, etag }, n) => {
    const given = etags[n];
    if (given === etag) return [];
    const owner = parts.find((part) => part.etag === given);
    const whose = owner ? `that of part ${owner.part_number}` : "not that of any part";
    const error = `the ETag does not match part ${part_number}: it is ${whose}`;
    return [issueAt(["body", "etags", String(n)], fault("value_error", { error }), given)];
  });
}
