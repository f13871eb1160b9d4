/** Moves the files of outputs to where callers can read them. */

import { isImageCall, type RunReporter } from "../../../src/run/run-reporter.ts";
import type { FileStore } from "../control-plane/client.ts";
import { type RunnableJob, runIdOf } from "../jobs/executor.ts";
import type { CallbackServer } from "../lib/callback-server.ts";
import type { Log } from "../lib/log.ts";
import { ScratchFolders } from "../lib/scratch.ts";
import { textAt } from "./input-files.ts";
import { type FolderLimits, OutputFolder } from "./output-folder.ts";
import { OutputQueue, type StoredOutput } from "./output-queue.ts";
import { type ContainerFile, References } from "./output-references.ts";
import { OutputServer } from "./output-server.ts";
import { OutputStore } from "./output-store.ts";

/**
 * Limits of one container's files on disk at a time: two of the maximum size, or many small ones.
 */
const MAX_LARGE_FILES = 2;
const MAX_FILES = 10_000;

export interface OutputOptions {
  /** The directory for files until they are stored. */
  directory: string;
  max_file_bytes: number;
}

export interface OutputRun {
  job: RunnableJob;
  input: RunnableJob["input"];
  container: { files: OutputServer; read(path: string): Promise<ContainerFile> };
  /** Whether `file:///…` in the output means a file of the container. */
  declaresFiles: boolean;
  reporter: RunReporter;
  stop: AbortSignal;
}

export class OutputFiles {
  readonly #server: CallbackServer;
  readonly #files: FileStore;
  readonly #log: Log;
  readonly #folders: ScratchFolders;
  readonly #bounds: FolderLimits;

  constructor(server: CallbackServer, files: FileStore, log: Log, options: OutputOptions) {
    const { directory, max_file_bytes: fileBytes } = options;
    this.#server = server;
    this.#files = files;
    this.#log = log;
    this.#folders = new ScratchFolders(directory);
    this.#bounds = { fileBytes, totalBytes: MAX_LARGE_FILES * fileBytes, count: MAX_FILES };
  }

  /** Call this before the first run: it removes the files that an earlier process left. */
  start(): Promise<void> {
    return this.#folders.sweep();
  }

  /**
   * Receives a container's uploads during its whole life.
   * @param url of an adopted container
   */
  createServer(url?: string): OutputServer {
    return new OutputServer(this.#server, new OutputFolder(this.#folders, this.#bounds), url);
  }

  open({ job, input, container, declaresFiles, reporter, stop }: OutputRun): StoredOutput {
    const log = this.#log;
    const failed = new AbortController();
    const end = AbortSignal.any([stop, failed.signal]);
    const files = container.files.begin(runIdOf(job));
    const store = new OutputStore({ files: this.#files, lease: job.lease, stop: end });
    const read = declaresFiles ? (path: string) => container.read(path) : undefined;
    const inputs = inputUrls(job, input);
    // Other OpenAI-compatible calls have text as output, even if it looks like a file.
    const references =
      job.call === null || isImageCall(job.call)
        ? new References({ files, read, store, inputs, stop: end })
        : undefined;
    return new OutputQueue({ files, references, store, reporter, stop, failed, log });
  }

  /** To be called once all containers have ended. */
  close(): Promise<void> {
    return this.#folders.sweep();
  }
}

const inputUrls = ({ files, input }: RunnableJob, inputForContainer: RunnableJob["input"]) =>
  new Map(files.map(({ at }) => [textAt(inputForContainer, at), textAt(input, at)]));
