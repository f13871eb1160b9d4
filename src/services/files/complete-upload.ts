/** The end of an upload: its parts become a file. Repeated, and by two at once, it comes to the same. */
import { partCount } from "../../domain/files/upload-plan.ts";
import { fault, issueAt, ValidationFailure } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors.ts";
import type { ValidationIssue } from "../../protocol/common.ts";
import { completeMultipart, headFile, isStale } from "../../storage/files/files.ts";
import {
  completeUpload as completeRow,
  findUpload,
  listParts,
  type UploadPartRow,
  type UploadRow,
} from "../../storage/files/uploads.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { forgetUpload, getUpload } from "./uploads.ts";

/** Of missing parts so many are named. */
const NAMED = 10;

/**
 * @returns the row as it is then
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
  await assembleParts(services, row, etags);
  return markComplete(services, id, Date.now() + services.settings.retentionSeconds * 1000);
}

/** @param expires_at unix ms @throws ProblemError not_found when it was removed meanwhile */
export async function markComplete(
  { db }: Services,
  id: string,
  expires_at: number,
): Promise<UploadRow> {
  await completeRow(db, id, Date.now(), expires_at);
  forgetUpload(id);
  const completed = await findUpload(db, id);
  if (!completed) throw notFound(`The upload '${id}'`);
  return completed;
}

/** The part of it that is R2's. @throws as completeUpload */
export async function assembleParts(
  services: Services,
  row: UploadRow,
  etags: string[],
): Promise<void> {
  const parts = await listParts(services.db, row.id);
  // Its parts are gone when another completion was faster, or broke off before it could say so.
  if (parts.length === 0 && (await isWhole(services, row))) return;
  const bare = etags.map((etag) => etag.replace(/^(?:W\/)?"(.*)"$/, "$1"));
  requireAll(row, parts, bare.length);
  try {
    if (await completeMultipart(services.env.FILES, row, bare)) return;
  } catch (error) {
    // R2 knows best which parts it has; what came last of two at once was perhaps noted first.
    const issues = etagIssues(bare, parts);
    if (issues.length > 0) throw new ValidationFailure(issues);
    if (!isStale(error)) throw error;
    // Which of two that came at once R2 has kept, only the next one tells.
    throw conflict("A part has come twice at once. Send it again, then complete with its ETag.");
  }
  if (!(await isWhole(services, row))) throw conflict("The upload was deleted meanwhile.");
}

const isWhole = async ({ env }: Services, { key, size }: UploadRow) =>
  (await headFile(env.FILES, key))?.size === size;

/** Each part was held to its length when it came: all of them together are the declared size. */
function requireAll(row: UploadRow, parts: UploadPartRow[], etags: number): void {
  const count = partCount(row.size, row.part_size);
  const arrived = new Map(parts.map(({ part_number, etag }) => [part_number, etag]));
  const numbers = Array.from({ length: count }, (_, n) => n + 1);
  const missing = numbers.filter((number) => !arrived.has(number));
  if (missing.length > 0) {
    const named = missing.slice(0, NAMED).join(", ");
    const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : "";
    throw conflict(
      `${missing.length} of ${count} parts have not arrived: ${named}${more}. PUT them to their urls, then complete again.`,
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
    const error = `part ${part_number} has another ETag: this is ${whose}`;
    return [issueAt(["body", "etags", String(n)], fault("value_error", { error }), given)];
  });
}
