/** Files and large values that runners read and write, authorized by the lease of their job. */
import { v7 as uuid } from "uuid";
import { WRITE_ROWS } from "../../domain/accounts/write-rows.ts";
import { safeName } from "../../domain/files/file-name.ts";
import { MAX_STORED_OBJECTS } from "../../domain/predictions/attempts.ts";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import { notFound, ProblemError } from "../../errors/errors.ts";
import { JsonValueCheck } from "../../lib/json-value-check.ts";
import type { WriteGrant } from "../../objects/stubs/prediction.ts";
import type { CreateUpload } from "../../protocol/upload.ts";
import {
  deleteFile,
  type FileFacts,
  fileKey,
  putFile,
  putValue,
  valueKey,
} from "../../storage/files/files.ts";
import { findUpload } from "../../storage/files/uploads.ts";
import { streamOfLength } from "../../storage/write-meter.ts";
import { withinWriteLimit } from "../access/write-limit.ts";
import { assembleParts, markComplete } from "../files/complete-upload.ts";
import { withinFileQuota } from "../files/file-quota.ts";
import { fileResponse } from "../files/file-response.ts";
import { signedFileUrl } from "../files/signed-urls.ts";
import { partUrls } from "../files/upload-view.ts";
import { beginUpload, removeUploads, rowsOfParts } from "../files/uploads.ts";
import type { Services } from "../services.ts";
import { leasedPrediction } from "./runners.ts";

const noAttempt = () => notFound("An attempt with this lease");

/** Serves a file of the job's input. @throws ProblemError not_found */
export async function readInputFile(
  services: Services,
  holder: LeaseHolder,
  key: string,
  request: Request,
): Promise<Response> {
  if (!(await leasedPrediction(services.env, holder).mayReadFile(holder, key))) throw noAttempt();
  return fileResponse(services, key, request);
}

/**
 * @returns the file's URL
 * @throws ProblemError not_found when the attempt has ended; too_large at the limit of stored objects
 */
export async function storeFile(
  services: Services,
  holder: LeaseHolder,
  facts: FileFacts,
  body: ReadableStream | "",
  size: number,
): Promise<string> {
  const prediction = await beginStoring(services, holder);
  const key = newKey(prediction, facts.name);
  const { user_id } = prediction;
  await withinFileQuota(services, { ...prediction, key, bytes: size }, "too_large", async () => {
    await withinWriteLimit(services, user_id, { rows: 0, bytes: size }, ({ env }) =>
      putFile(env.FILES, key, body, facts),
    );
    await requireActiveAttempt(services, holder, key);
  });
  return fileUrl(services, prediction, key);
}

/**
 * Stores a value as JSON text, which is checked: it is copied unchanged into responses, events and exports.
 * @returns its name
 * @throws ProblemError not_found, too_large, bad_request
 */
export async function storeValue(
  services: Services,
  holder: LeaseHolder,
  body: ReadableStream,
  size: number,
): Promise<string> {
  const prediction = await beginStoring(services, holder);
  const { id, user_id, output_bytes } = prediction;
  if (size > output_bytes) {
    throw new ProblemError(
      "too_large",
      `The output can have at most ${output_bytes} bytes in total.`,
    );
  }
  const name = crypto.randomUUID();
  const key = valueKey(id, name);
  const check = { failed: false };
  await withinFileQuota(services, { ...prediction, key, bytes: size }, "too_large", async () => {
    await withinWriteLimit(services, user_id, { rows: 0, bytes: size }, ({ env }) =>
      putValue(env.FILES, key, checked(body, size, check)),
    ).catch((error) => {
      // The runner may try again after any other error.
      if (!check.failed) throw error;
      throw new ProblemError("bad_request", "Send the value as JSON on one line.");
    });
    await requireActiveAttempt(services, holder, key);
  });
  return name;
}

/**
 * Passes a body on, and breaks it off at the first byte that is wrong. R2 requires the length of a stream.
 */
function checked(
  body: ReadableStream<Uint8Array>,
  size: number,
  check: { failed: boolean },
): ReadableStream<Uint8Array> {
  const value = new JsonValueCheck();
  const fail = (controller: TransformStreamDefaultController) => {
    check.failed = true;
    controller.error(new Error("it is no value"));
  };
  const checking = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      if (value.feed(bytes)) controller.enqueue(bytes);
      else fail(controller);
    },
    flush(controller) {
      if (!value.complete) fail(controller);
    },
  });
  return body.pipeThrough(checking).pipeThrough(streamOfLength(size));
}

/** @throws ProblemError not_found, too_large; ValidationFailure */
export async function beginRunnerUpload(
  services: Services,
  holder: LeaseHolder,
  request: CreateUpload,
  origin: string,
) {
  const prediction = await beginStoring(services, holder);
  const { user_id } = prediction;
  const key = newKey(prediction, request.name ?? "file");
  const cost = { rows: WRITE_ROWS.createUpload, bytes: 0 };
  const row = await withinWriteLimit(services, user_id, cost, (metered) =>
    beginUpload(
      metered,
      uuid(),
      { user_id, prediction_id: prediction.id, token_id: null, maker: "", key },
      request,
    ),
  );
  // An upload that began while the attempt ended is removed here: the end of the prediction has missed it.
  if (!(await leasedPrediction(services.env, holder).continueWrite(holder))) {
    await removeUploads(services, [row]);
    throw noAttempt();
  }
  const urls = await partUrls(services, row, origin, null);
  return { id: row.id, part_size: row.part_size, urls };
}

/** @returns the file's URL @throws as completeUpload */
export async function completeRunnerUpload(
  services: Services,
  holder: LeaseHolder,
  id: string,
  etags: string[],
): Promise<string> {
  const prediction = await leasedPrediction(services.env, holder).continueWrite(holder);
  if (!prediction) throw noAttempt();
  const row = await findUpload(services.db, id);
  if (row?.prediction_id !== prediction.id) throw notFound(`The upload '${id}'`);
  if (row.completed_at === null) {
    const is_utf8 = await assembleParts(services, row, etags);
    await requireActiveAttempt(services, holder, row.key);
    const cost = { rows: WRITE_ROWS.completeUpload + rowsOfParts(row), bytes: 0 };
    // The row stays as long as the file, whose bytes it counts.
    const expires_at = Date.now() + prediction.keep_seconds * 1_000;
    await withinWriteLimit(services, prediction.user_id, cost, (metered) =>
      markComplete(metered, id, { expires_at, is_utf8 }),
    );
  }
  return fileUrl(services, prediction, row.key);
}

async function beginStoring({ env }: Services, holder: LeaseHolder): Promise<WriteGrant> {
  const prediction = await leasedPrediction(env, holder).beginWrite(holder);
  if (!prediction) throw noAttempt();
  if (prediction === "full") {
    throw new ProblemError(
      "too_large",
      `A run can store at most ${MAX_STORED_OBJECTS} files and values. Return fewer, or combine them in an archive.`,
    );
  }
  return prediction;
}

/** Deletes a file written while the attempt ended: the removal of its files may have missed it. */
async function requireActiveAttempt(
  services: Services,
  holder: LeaseHolder,
  key: string,
): Promise<void> {
  if (await leasedPrediction(services.env, holder).continueWrite(holder)) return;
  await deleteFile(services.env.FILES, key);
  throw noAttempt();
}

/** A random prefix keeps outputs of the same name apart. */
function newKey({ id }: WriteGrant, name: string): string {
  const random = crypto.randomUUID().slice(24);
  return fileKey(id, `${random}-${safeName(name)}`);
}

/** The URL of a file, which is valid as long as the file is kept. */
const fileUrl = (services: Services, { url, keep_seconds }: WriteGrant, key: string) =>
  signedFileUrl(services, new URL(url).origin, key, Date.now() + keep_seconds * 1000);
