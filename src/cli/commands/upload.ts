/** `auspex upload`: a file, for use in inputs. */

import { access, constants, realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { sendParts } from "../../../runner/src/files/send-parts.ts";
import { isRetryable, messageOf, statusOf } from "../../../runner/src/lib/error.ts";
import { typeOfName } from "../../domain/files/media-types.ts";
import { uuid } from "../../protocol/common.ts";
import { createUpload, partLength, type Upload, upload } from "../../protocol/upload.ts";
import { Failure, Interrupted, Misuse } from "../failure.ts";
import { type Identity, Notes } from "../notes.ts";
import { integerOption } from "../options.ts";
import { type Host, newServiceCommand, openService, type ServiceSession } from "../session.ts";
import { localTime } from "../ui/output.ts";
import { formatBytes, Meter, showUpload } from "../ui/progress.ts";

export const uploadCommand = (host: Host) =>
  newServiceCommand("upload", "Upload a file and print its URL for use in inputs")
    .argument("<file>")
    .option("--mime-type <type>", "media type (default: from the file extension)")
    .option("--name <name>", "file name for downloads (default: the file's own)")
    .option("--parallel <count>", "parts to upload in parallel", integerOption(1, 64), 4)
    .addHelpText("after", "\nRun the same command again to resume an interrupted upload.")
    .action(async (path, options) => {
      const session = await openService(host, options);
      const file = await readLocalFile(path, options);
      const url = await uploadFile(session, file, options.parallel);
      session.output.result(url, { url, size: file.size, mime_type: file.mimeType });
    });

/** The service removes uploads earlier: after a week at most. */
const STALE_MS = 7 * 24 * 3_600_000;

/** @returns the upload's URL; errors say what to do next */
export function uploadFile(
  session: ServiceSession,
  file: LocalFile,
  parallel: number,
): Promise<string> {
  return new FileUpload(session, file, parallel).run();
}

class FileUpload {
  readonly #session: ServiceSession;
  readonly #file: LocalFile;
  readonly #parallel: number;
  readonly #notes: Notes<{ id: string }>;
  readonly #identity: Identity;
  #resumable = true;

  constructor(session: ServiceSession, file: LocalFile, parallel: number) {
    this.#session = session;
    this.#file = file;
    this.#parallel = parallel;
    this.#notes = new Notes(`${session.folders.state}/uploads`, z.object({ id: uuid }));
    const { path, size, mtimeMs, mimeType, name } = file;
    this.#identity = [session.access.url, path, size, mtimeMs, mimeType, name];
  }

  /** @returns the upload's URL; errors say what to do next */
  async run(): Promise<string> {
    await this.#notes.sweep(STALE_MS);
    const pending = await this.#findOrBegin().catch((error: unknown) => {
      const advice = adviceAtBegin(error, this.#session.access.url, this.#file);
      throw this.#explain(advice, "Run the same command again.");
    });
    const { url } = pending.status === "completed" ? pending : await this.#finish(pending);
    await this.#notes.remove(this.#identity);
    return url;
  }

  async #findOrBegin(): Promise<Upload> {
    const { service, display } = this.#session;
    const note = await this.#notes.find(this.#identity);
    const previous =
      note && (await service.get(`/uploads/${note.id}`, upload).catch(unlessForgotten));
    if (
      previous &&
      (previous.status === "completed" || Date.parse(previous.expires_at) > Date.now())
    ) {
      return previous;
    }
    const { size, mimeType, name } = this.#file;
    const body = { size, mime_type: mimeType, name };
    const pending = await service.post("/uploads", upload, { body });
    await this.#notes.save(this.#identity, { id: pending.id }).catch((error: unknown) => {
      this.#resumable = false;
      display.say(`This upload can't be resumed if it is interrupted: ${messageOf(error)}`);
    });
    return pending;
  }

  async #finish(pending: Upload): Promise<Upload> {
    const { service, display } = this.#session;
    const { id, size, part_size, parts, urls, expires_at } = pending;
    const completedBytes = parts.reduce(
      (sum, part) => sum + partLength(size, part_size, part.part_number),
      0,
    );
    if (completedBytes > 0) {
      const which = `${parts.length} of ${urls.length} parts`;
      display.say(`Resuming. ${which} already uploaded (${formatBytes(completedBytes)}).`);
    }
    const meter = new Meter(size, completedBytes, performance.now());
    const shown = showUpload(display, meter);
    try {
      const body = { etags: await this.#send(pending, meter) };
      const path = `/uploads/${id}/complete`;
      const completed = await service.post(path, upload, { body, isPatient: true });
      shown.end(true);
      return completed;
    } catch (error) {
      shown.end(false);
      if (isUploadGone(error)) await this.#notes.remove(this.#identity);
      const resumable = this.#resumable;
      const until = resumable ? ` The upload expires at ${localTime(expires_at)}.` : "";
      throw this.#explain(adviceMidway(error, resumable), `${runAgain(resumable)}${until}`);
    }
  }

  #send({ size, part_size: partSize, urls, parts }: Upload, meter: Meter): Promise<string[]> {
    const { signal, onRetry } = this.#session;
    const { path, mtimeMs } = this.#file;
    const completed = new Map(parts.map(({ part_number, etag }) => [part_number, etag]));
    return sendParts({
      file: path,
      size,
      mtimeMs,
      partSize,
      urls,
      completed,
      parallel: this.#parallel,
      signal,
      onSent: meter.add,
      onRetry,
    });
  }

  /** After an interrupt the cause is known, so the message only says how to resume. */
  #explain(advice: string, interrupted: string): Error {
    const { reason } = this.#session.signal;
    return reason instanceof Interrupted
      ? reason.saying(`Interrupted. ${interrupted}`)
      : new Failure(advice);
  }
}

/** The upload is removed, expired or another user's, which makes no difference here. */
function unlessForgotten(error: unknown): undefined {
  if (statusOf(error) !== 404) throw error;
}

const UNKNOWN_TYPE = "application/octet-stream";

export interface LocalFile {
  /** Absolute path, with symbolic links resolved. */
  path: string;
  size: number;
  mtimeMs: number;
  mimeType: string;
  /** File name for downloads; undefined if the service would refuse it. */
  name: string | undefined;
}

export interface FileOptions {
  mimeType?: string;
  name?: string;
}

/** @throws Misuse with advice */
export async function readLocalFile(file: string, options: FileOptions = {}): Promise<LocalFile> {
  const mimeType = checked("--mime-type", createUpload.shape.mime_type, options.mimeType);
  const name = checked("--name", createUpload.shape.name, options.name);
  return {
    ...(await requireFile(file)),
    mimeType: mimeType ?? typeOfName(file) ?? UNKNOWN_TYPE,
    name: name ?? createUpload.shape.name.safeParse(basename(file)).data,
  };
}

interface Schema {
  safeParse(value: unknown): {
    data?: string | undefined;
    error?: { issues: { message: string }[] } | undefined;
  };
}

function checked(option: string, schema: Schema, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  throw new Misuse(`${option}: ${error?.issues.map(({ message }) => message).join(", ")}`);
}

async function requireFile(file: string): Promise<Pick<LocalFile, "path" | "size" | "mtimeMs">> {
  try {
    const path = await realpath(file);
    const stats = await stat(path);
    if (stats.isDirectory()) {
      throw new Misuse(
        `${file} is a directory. Upload its files, or pack it into an archive (tar, zip).`,
      );
    }
    if (!stats.isFile()) throw new Misuse(`${file} is not a regular file.`);
    if (stats.size === 0) throw new Misuse(`${file} is empty.`);
    await access(path, constants.R_OK);
    return { path, size: stats.size, mtimeMs: stats.mtimeMs };
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw new Misuse(`Can't read ${file}: ${messageOf(error)}`);
  }
}

/** Whether the service no longer accepts this upload, so that only a new one helps. */
export function isUploadGone(error: unknown): boolean {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500 && status !== 401 && !isRetryable(error);
}

/** Explains errors before the upload was created. */
export function adviceAtBegin(error: unknown, url: string, file: LocalFile): string {
  const why = messageOf(error);
  switch (statusOf(error)) {
    case 401:
      return `${why}\n${NEW_TOKEN}`;
    case 404:
      return `${url} doesn't accept uploads: ${why}\nCheck the deployment's address (AUSPEX_URL, --url).`;
    case 422:
      return `${file.path} (${formatBytes(file.size)}) was rejected: ${why}\nIf it is too large, split it, or ask your operator to raise the limit (UPLOAD_PART_MAX_MIB).`;
    default:
      return isRetryable(error)
        ? `${why}\nCheck your network and the deployment's address (AUSPEX_URL, --url), then run the same command again.`
        : why;
  }
}

/** Explains errors while parts are sent or assembled. */
export function adviceMidway(error: unknown, resumable: boolean): string {
  const why = messageOf(error);
  if (isUploadGone(error)) return `${why}\nRun the same command again to start over.`;
  if (statusOf(error) === 401) return `${why}\n${NEW_TOKEN} ${runAgain(resumable)}`;
  return isRetryable(error) ? `${why}\n${runAgain(resumable)}` : why;
}

export const runAgain = (remembered: boolean): string =>
  remembered
    ? "Run the same command again to resume."
    : "Run the same command again to start over.";

const NEW_TOKEN =
  "Log in with a token that has the predict scope (auspex login), or set AUSPEX_TOKEN.";
