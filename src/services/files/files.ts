/** Reading files, with a signed URL or as their owner. */
import { type Access, accessToPrediction, accessToUpload } from "../../domain/accounts/access.ts";
import { notFound, ProblemError } from "../../errors/errors.ts";
import type { FileAddress, OneFile, SignedQuery } from "../../protocol/file.ts";
import { fileKey, headFile } from "../../storage/files/files.ts";
import { findOwnUploads } from "../../storage/files/uploads.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import type { Services } from "../services.ts";
import { fileResponse } from "./file-response.ts";
import { requireSignature, signedFileUrl } from "./signed-urls.ts";

/**
 * @param caller needed without a signature
 * @throws ProblemError unauthenticated, forbidden, not_found
 */
export async function readFile(
  services: Services,
  caller: Caller | undefined,
  file: OneFile,
  query: Partial<SignedQuery>,
  request: Request,
): Promise<Response> {
  const key = fileKey(file.source_id, file.file_name);
  const { expires, signature } = query;
  if (expires !== undefined && signature !== undefined) {
    await requireSignature(services, ["file", key], { expires, signature });
  } else {
    if (!caller) {
      throw new ProblemError(
        "unauthenticated",
        "This URL has no signature. Use a signed URL unchanged, or send a token of the file's owner.",
      );
    }
    await requireOwner(services, caller, file);
  }
  return fileResponse(services, key, request);
}

/** A new signed URL that the owner can share. @throws ProblemError not_found */
export async function createFileUrl(
  services: Services,
  caller: Caller,
  file: OneFile,
  seconds: number,
  origin: string,
): Promise<FileAddress> {
  await requireOwner(services, caller, file);
  const key = fileKey(file.source_id, file.file_name);
  if (!(await headFile(services.env.FILES, key))) throw gone(file);
  const expires = Date.now() + seconds * 1000;
  return {
    url: await signedFileUrl(services, origin, key, expires),
    expires_at: new Date(expires).toISOString(),
  };
}

/** @param source the upload or prediction that a file belongs to */
export async function accessToSource(
  services: Services,
  caller: Caller,
  source: string,
): Promise<Access> {
  const { user_id } = caller;
  const [[upload], run] = await Promise.all([
    findOwnUploads(services.db, user_id, [source]),
    findAccount(services, user_id).then((account) => account?.find(source)),
  ]);
  if (upload) return accessToUpload(caller, upload);
  return run ? accessToPrediction(caller, { ...run, user_id }) : "hidden";
}

/** @throws ProblemError not_found, forbidden */
async function requireOwner(services: Services, caller: Caller, file: OneFile): Promise<void> {
  const access = await accessToSource(services, caller, file.source_id);
  if (access === "hidden") throw gone(file);
  await requireAccess(services, caller, access, `The file '${file.file_name}'`);
}

const gone = ({ file_name }: OneFile) =>
  notFound(`The file '${file_name}', or its prediction or upload,`);
