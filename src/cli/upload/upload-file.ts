/** Uploads a file in parts, and resumes an interrupted upload. */
import { z } from "zod";
import { messageOf, statusOf } from "../../../runner/src/control-plane/error.ts";
import { sendParts } from "../../../runner/src/files/send-parts.ts";
import { uuid } from "../../protocol/common.ts";
import { partLength, type Upload, upload } from "../../protocol/upload.ts";
import type { ServiceSession } from "../commands/session.ts";
import { Failure, Interrupted } from "../failure.ts";
import { type Identity, Notes } from "../state/notes.ts";
import { Meter } from "../ui/meter.ts";
import { formatBytes } from "../ui/progress.ts";
import { showUpload } from "../ui/transfer.ts";
import { adviceAtBegin, adviceMidway, isUploadGone, runAgain } from "./advice.ts";
import type { LocalFile } from "./local-file.ts";

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

  /** Finds the interrupted upload of this file, or creates one. */
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
      display.say(`This upload cannot be resumed if it is interrupted: ${messageOf(error)}`);
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
      display.say(`Resuming: ${which} are uploaded (${formatBytes(completedBytes)}).`);
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
      const until = resumable ? ` It expires at ${minuteOf(expires_at)}.` : "";
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

/** `2026-11-22 06:27 UTC` */
const minuteOf = (timestamp: string): string => `${timestamp.slice(0, 16).replace("T", " ")} UTC`;

/** Removed, expired, or another user's: all the same here. */
function unlessForgotten(error: unknown): undefined {
  if (statusOf(error) !== 404) throw error;
}
