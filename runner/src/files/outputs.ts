/** The files of outputs, moved to where the caller can read them. */

import type { CallbackServer } from "../containers/callback-server.ts";
import type { FileStore } from "../control-plane/client.ts";
import type { ContainerFile } from "../engines/engine.ts";
import { type RunnableJob, runIdOf, type Sink } from "../jobs/executor.ts";
import type { Log } from "../lib/log.ts";
import { ScratchFolders } from "../lib/scratch.ts";
import { textAt } from "./input-path.ts";
import { type Bounds, OutputFolder } from "./output-folder.ts";
import { OutputServer } from "./output-server.ts";
import { OutputQueue, type StoredOutput } from "./outputs-queue.ts";
import { References } from "./outputs-references.ts";
import { OutputStore } from "./store.ts";

/** What one container may have on the disk at a time: two files as large as may be, or many small. */
const LARGE_FILES = 2;
const FILES = 10_000;

export interface OutputOptions {
  /** Where files lie until they are stored. */
  directory: string;
  /** Bytes of one file. */
  max_file_bytes: number;
}

export interface OutputRun {
  job: RunnableJob;
  /** The job's input as the container has it. */
  input: RunnableJob["input"];
  container: { files: OutputServer; read(path: string): Promise<ContainerFile> };
  /** Whether the container may mean a file of its own by `file:///…`. */
  declaresFiles: boolean;
  sink: Sink;
  stop: AbortSignal;
}

export class OutputFiles {
  readonly #door: CallbackServer;
  readonly #files: FileStore;
  readonly #log: Log;
  readonly #folders: ScratchFolders;
  readonly #bounds: Bounds;

  constructor(door: CallbackServer, files: FileStore, log: Log, options: OutputOptions) {
    const { directory, max_file_bytes: fileBytes } = options;
    this.#door = door;
    this.#files = files;
    this.#log = log;
    this.#folders = new ScratchFolders(directory);
    this.#bounds = { fileBytes, totalBytes: LARGE_FILES * fileBytes, count: FILES };
  }

  /** Before the first run: removes what an earlier life of this runner left. */
  start(): Promise<void> {
    return this.#folders.sweep();
  }

  /** Where a container puts its files, as long as it lives. */
  sink(): OutputServer {
    return new OutputServer(this.#door, new OutputFolder(this.#folders, this.#bounds));
  }

  /** The sink of one run, in which files have become addresses. */
  open({ job, input, container, declaresFiles, sink, stop }: OutputRun): StoredOutput {
    const log = this.#log;
    const over = new AbortController();
    const end = AbortSignal.any([stop, over.signal]);
    const files = container.files.begin(runIdOf(job));
    const store = new OutputStore({ files: this.#files, lease: job.lease, stop: end });
    const read = declaresFiles ? (path: string) => container.read(path) : undefined;
    const inputs = namesIn(job, input);
    // What answers a call of the convention is text, whatever it looks like.
    const references =
      job.call === null ? new References({ files, read, store, inputs, stop: end }) : undefined;
    return new OutputQueue({ files, references, store, sink, stop, over, log });
  }

  /** Once all containers are gone. */
  close(): Promise<void> {
    return this.#folders.sweep();
  }
}

const namesIn = ({ files, input }: RunnableJob, given: RunnableJob["input"]) =>
  new Map(files.map(({ at }) => [textAt(given, at), textAt(input, at)]));
