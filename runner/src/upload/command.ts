/** `auspex-runner upload`: uploads a file in parts, and resumes an interrupted upload. */
import { constants } from "node:os";
import { partLength, type Upload } from "../../../src/protocol/upload.ts";
import { messageOf, statusOf } from "../control-plane/error.ts";
import { sendParts } from "../files/send-parts.ts";
import type { Environment } from "../settings/read-settings.ts";
import { adviceAtBegin, adviceMidway, isUploadGone, runAgain } from "./advice.ts";
import { createDisplay, type Display, silentDisplay } from "./display.ts";
import { Meter } from "./meter.ts";
import type { UploadOptions } from "./options.ts";
import { formatBytes, formatDuration } from "./progress.ts";
import { ResumeStore, resumeFolder } from "./resume-store.ts";
import { UploadClient } from "./upload-client.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Prints the URL of the upload, and nothing else, to standard output. */
export async function upload(options: UploadOptions, environment: Environment): Promise<number> {
  const stop = new AbortController();
  let code = 1;
  for (const name of SIGNALS) {
    // `once`: a second signal ends the process at once.
    process.once(name, () => {
      code = 128 + constants.signals[name];
      stop.abort(new Error("interrupted"));
    });
  }
  const command = new UploadCommand(options, new ResumeStore(resumeFolder(environment)), {
    display: options.quiet ? silentDisplay : createDisplay(process.stderr, environment.TERM),
    signal: stop.signal,
  });
  try {
    process.stdout.write(`${await command.run()}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`auspex-runner: ${messageOf(error)}\n`);
    return code;
  }
}

interface CommandOptions {
  display: Display;
  signal: AbortSignal;
}

class UploadCommand {
  readonly #options: UploadOptions;
  readonly #resumeStore: ResumeStore;
  readonly #display: Display;
  readonly #signal: AbortSignal;
  readonly #service: UploadClient;
  #resumable = true;

  constructor(options: UploadOptions, memory: ResumeStore, { display, signal }: CommandOptions) {
    this.#options = options;
    this.#resumeStore = memory;
    this.#display = display;
    this.#signal = signal;
    this.#service = new UploadClient({ ...options, signal, onRetry: this.#onRetry });
  }

  /** @returns the upload's URL; errors say what to do next */
  async run(): Promise<string> {
    await this.#resumeStore.sweep();
    const pending = await this.#findOrBegin().catch((error: unknown) => {
      throw this.#explain(adviceAtBegin(error, this.#options), "Run the same command again.");
    });
    const { url } = pending.status === "completed" ? pending : await this.#finish(pending);
    await this.#resumeStore.remove(this.#options);
    return url;
  }

  /** Finds the interrupted upload of this file, or creates one. */
  async #findOrBegin(): Promise<Upload> {
    const id = await this.#resumeStore.find(this.#options);
    const previous = id && (await this.#service.get(id).catch(unlessForgotten));
    if (
      previous &&
      (previous.status === "completed" || Date.parse(previous.expires_at) > Date.now())
    ) {
      return previous;
    }
    const { file, mime_type, name } = this.#options;
    const pending = await this.#service.begin({ size: file.size, mime_type, name });
    await this.#resumeStore.save(this.#options, pending.id).catch((error: unknown) => {
      this.#resumable = false;
      this.#display.say(`This upload cannot be resumed if it is interrupted: ${messageOf(error)}`);
    });
    return pending;
  }

  async #finish(pending: Upload): Promise<Upload> {
    const { size, part_size, parts, urls, expires_at } = pending;
    const completedBytes = parts.reduce(
      (sum, part) => sum + partLength(size, part_size, part.part_number),
      0,
    );
    if (completedBytes > 0) {
      const which = `${parts.length} of ${urls.length} parts`;
      this.#display.say(`Resuming: ${which} are uploaded (${formatBytes(completedBytes)}).`);
    }
    const meter = new Meter(size, completedBytes, performance.now());
    const unwatch = this.#display.watch(meter);
    try {
      const completed = await this.#service.complete(pending.id, await this.#send(pending, meter));
      unwatch(true);
      return completed;
    } catch (error) {
      unwatch(false);
      if (isUploadGone(error)) await this.#resumeStore.remove(this.#options);
      const resumable = this.#resumable;
      const until = resumable ? ` It expires at ${minuteOf(expires_at)}.` : "";
      throw this.#explain(adviceMidway(error, resumable), `${runAgain(resumable)}${until}`);
    }
  }

  #send({ size, part_size: partSize, urls, parts }: Upload, meter: Meter): Promise<string[]> {
    const { file, parallel } = this.#options;
    const completed = new Map(parts.map(({ part_number, etag }) => [part_number, etag]));
    return sendParts({
      file: file.path,
      size,
      mtimeMs: file.mtimeMs,
      partSize,
      urls,
      completed,
      parallel,
      signal: this.#signal,
      onSent: meter.add,
      onRetry: this.#onRetry,
    });
  }

  readonly #onRetry = (error: unknown, delayMs: number): void =>
    this.#display.say(
      `${messageOf(error)}: retrying in ${formatDuration(Math.ceil(delayMs / 1000))}`,
    );

  /** After an interrupt the cause is known, so the message only says how to resume. */
  #explain(advice: string, interrupted: string): Error {
    return new Error(this.#signal.aborted ? `Interrupted. ${interrupted}` : advice);
  }
}

/** `2026-11-22 06:27 UTC` */
const minuteOf = (timestamp: string): string => `${timestamp.slice(0, 16).replace("T", " ")} UTC`;

/** Removed, expired, or another user's: all the same here. */
function unlessForgotten(error: unknown): undefined {
  if (statusOf(error) !== 404) throw error;
}
