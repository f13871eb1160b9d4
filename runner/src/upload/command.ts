/** `auspex-runner upload`: sends a file in parts, and goes on with what an earlier try has left. */
import { constants } from "node:os";
import { partLength, type Upload } from "../../../src/protocol/upload.ts";
import type { Environment } from "../config/config.ts";
import { messageOf, statusOf } from "../control-plane/error.ts";
import { sendParts } from "../files/parts.ts";
import { adviceAtBegin, adviceMidway, goOn, isLost } from "./advice.ts";
import { type Display, display, silence } from "./display.ts";
import { Meter } from "./meter.ts";
import type { UploadOptions } from "./options.ts";
import { bytes, duration } from "./progress.ts";
import { ResumeStore, resumeFolder } from "./resume-store.ts";
import { UploadClient } from "./upload-client.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Writes the address of the upload, and nothing else, to standard output. */
export async function upload(options: UploadOptions, environment: Environment): Promise<number> {
  const stop = new AbortController();
  let code = 1;
  for (const name of SIGNALS) {
    // The second one does not ask.
    process.once(name, () => {
      code = 128 + constants.signals[name];
      stop.abort(new Error("interrupted"));
    });
  }
  const command = new UploadCommand(options, new ResumeStore(resumeFolder(environment)), {
    display: options.quiet ? silence : display(process.stderr, environment.TERM),
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

interface Surroundings {
  display: Display;
  signal: AbortSignal;
}

class UploadCommand {
  readonly #options: UploadOptions;
  readonly #memory: ResumeStore;
  readonly #display: Display;
  readonly #signal: AbortSignal;
  readonly #service: UploadClient;
  #remembered = true;

  constructor(options: UploadOptions, memory: ResumeStore, { display, signal }: Surroundings) {
    this.#options = options;
    this.#memory = memory;
    this.#display = display;
    this.#signal = signal;
    this.#service = new UploadClient({ ...options, signal, onRetry: this.#onRetry });
  }

  /** @returns the upload's address; an error says what to do next */
  async run(): Promise<string> {
    await this.#memory.sweep();
    const begun = await this.#find().catch((error: unknown) => {
      throw this.#said(adviceAtBegin(error, this.#options), "Run the same command again.");
    });
    const { url } = begun.status === "completed" ? begun : await this.#finish(begun);
    await this.#memory.forget(this.#options);
    return url;
  }

  /** The one that an earlier try has left, or else a new one. */
  async #find(): Promise<Upload> {
    const id = await this.#memory.find(this.#options);
    const left = id && (await this.#service.get(id).catch(unlessForgotten));
    if (left && (left.status === "completed" || Date.parse(left.expires_at) > Date.now())) {
      return left;
    }
    const { file, mime_type, name } = this.#options;
    const begun = await this.#service.begin({ size: file.size, mime_type, name });
    await this.#memory.keep(this.#options, begun.id).catch((error: unknown) => {
      this.#remembered = false;
      this.#display.say(`Broken off, this upload could not be resumed: ${messageOf(error)}`);
    });
    return begun;
  }

  async #finish(begun: Upload): Promise<Upload> {
    const { size, part_size, parts, urls, expires_at } = begun;
    const there = parts.reduce(
      (sum, part) => sum + partLength(size, part_size, part.part_number),
      0,
    );
    if (there > 0) {
      const which = `${parts.length} of ${urls.length} parts`;
      this.#display.say(`Going on: ${which} are there (${bytes(there)}).`);
    }
    const meter = new Meter(size, there, performance.now());
    const unwatch = this.#display.watch(meter);
    try {
      const completed = await this.#service.complete(begun.id, await this.#send(begun, meter));
      unwatch(true);
      return completed;
    } catch (error) {
      unwatch(false);
      if (isLost(error)) await this.#memory.forget(this.#options);
      const remembered = this.#remembered;
      const until = remembered ? ` It is waited for until ${minuteOf(expires_at)}.` : "";
      throw this.#said(adviceMidway(error, remembered), `${goOn(remembered)}${until}`);
    }
  }

  #send({ size, part_size: partSize, urls, parts }: Upload, meter: Meter): Promise<string[]> {
    const { file, parallel } = this.#options;
    const have = new Map(parts.map(({ part_number, etag }) => [part_number, etag]));
    return sendParts({
      file: file.path,
      size,
      mtimeMs: file.mtimeMs,
      partSize,
      urls,
      have,
      parallel,
      signal: this.#signal,
      onSent: meter.add,
      onRetry: this.#onRetry,
    });
  }

  readonly #onRetry = (error: unknown, delayMs: number): void =>
    this.#display.say(
      `${messageOf(error)}: trying again in ${duration(Math.ceil(delayMs / 1000))}`,
    );

  /** Whoever has interrupted it knows why it ended, and not yet how to go on. */
  #said(advice: string, interrupted: string): Error {
    return new Error(this.#signal.aborted ? `Interrupted. ${interrupted}` : advice);
  }
}

/** `2026-11-22 06:27 UTC` */
const minuteOf = (timestamp: string): string => `${timestamp.slice(0, 16).replace("T", " ")} UTC`;

/** Removed, expired, or of another user: the same to us. */
function unlessForgotten(error: unknown): undefined {
  if (statusOf(error) !== 404) throw error;
}
