/**
 * Receives the files of one container: `PUT {url}/{name}` returns a URL for the file. The file is on disk by
 * then, since Cog waits for at most 25 s. With several runs in a container, the run that has this URL in its
 * output owns the file. A file is removed when all runs have ended that were there when it arrived.
 */
import { createHash, type Hash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { settlesWithin } from "../../../src/lib/timeout.ts";
import { createUpload } from "../../../src/protocol/upload.ts";
import { external, Failure, internal } from "../../../src/run/failure.ts";
import { type CallbackServer, type Endpoint, refuse } from "../lib/callback-server.ts";
import { messageOf } from "../lib/error.ts";
import type { Content, OutputFolder } from "./output-folder.ts";
import type { ServedFile } from "./serve-files.ts";

/** An upload that stalls is cut off. */
const IDLE_TIMEOUT_MS = 60_000;
/**
 * The end of a run and the end of a broken upload arrive on different connections: the latter may
 * be a little later.
 */
const SETTLE_TIMEOUT_MS = 2_000;
const MAX_NAME_CHARS = 200;

interface ReceivedFile {
  file: ServedFile;
  /** The runs that may own the file. */
  runs: Set<RunFiles>;
}

interface Upload {
  name: string;
  runs: Set<RunFiles>;
  ended: Promise<void>;
  cut(): void;
}

export class OutputServer {
  readonly #folder: OutputFolder;
  readonly #opening: Endpoint;
  readonly #runs = new Set<RunFiles>();
  readonly #files = new Map<string, ReceivedFile>();
  readonly #uploads = new Set<Upload>();
  #closed = false;

  constructor(server: CallbackServer, folder: OutputFolder, url?: string) {
    this.#folder = folder;
    this.#opening = server.open(
      (request, response, rest) => this.#receive(request, response, rest),
      url,
    );
  }

  /** The URL without a trailing slash. */
  get url(): string {
    return this.#opening.url;
  }

  /** To be called before the container gets the run. */
  begin(id: string): RunFiles {
    const run = new RunFiles(id, this);
    this.#runs.add(run);
    return run;
  }

  /** Returns the file with this URL, which is kept until the run has ended. */
  find(run: RunFiles, location: string): ServedFile | undefined {
    const received = this.#files.get(location);
    received?.runs.add(run);
    return received?.file;
  }

  async add(run: RunFiles, content: Content, name: string, mime_type: string): Promise<ServedFile> {
    const file = await this.#folder.add(content, name, mime_type);
    this.#files.set(file.path, { file, runs: new Set([run]) });
    // The file is removed here if the run ended meanwhile, since no other code would remove it.
    if (!this.#runs.has(run)) await this.#release(run);
    return file;
  }

  /** Adds a file as if the container had uploaded it. */
  async addUpload(
    run: RunFiles,
    content: Content,
    name: string,
    mime_type: string,
  ): Promise<string> {
    const file = await this.#folder.add(content, name, mime_type);
    return this.#register(file, new Set(this.#runs.has(run) ? [run] : []));
  }

  /** Removes a file that was already there. */
  async drop(location: string): Promise<void> {
    const received = this.#files.get(location);
    this.#files.delete(location);
    if (received) await this.#folder.remove(received.file);
  }

  async settle(run: RunFiles): Promise<void> {
    const uploads = [...this.#uploads].filter(({ runs }) => runs.has(run));
    if (uploads.length === 0) return;
    if (await settlesWithin(Promise.all(uploads.map(({ ended }) => ended)), SETTLE_TIMEOUT_MS))
      return;
    // A missing file that several runs may own does not fail this run: another run may report it.
    const left = uploads.find((upload) => this.#uploads.has(upload) && upload.runs.size === 1);
    if (left) run.fail(external(`the run ended before its file ${left.name} was uploaded`));
  }

  async end(run: RunFiles): Promise<void> {
    this.#runs.delete(run);
    for (const { runs, cut } of this.#uploads) {
      // No run is left to own the file.
      if (runs.delete(run) && runs.size === 0) cut();
    }
    await this.#release(run);
    if (this.#closed && this.#runs.size === 0) await this.#folder.close();
  }

  /** The container has ended, but runs may still be storing its files. */
  async close(): Promise<void> {
    this.#opening.close();
    this.#closed = true;
    if (this.#runs.size === 0) await this.#folder.close();
  }

  async #release(run: RunFiles): Promise<void> {
    for (const [location, { file, runs }] of this.#files) {
      if (!runs.delete(run) || runs.size > 0) continue;
      this.#files.delete(location);
      await this.#folder.remove(file);
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse, rest: string): Promise<void> {
    if (request.method !== "PUT") return refuse(request, response, 405);
    const runs = this.#runsOf(request);
    // The upload is refused: no run owns the file.
    if (runs.size === 0) return refuse(request, response, 409);
    const name = uploadName(rest);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const upload = { name, runs, ended, cut: () => void request.destroy() };
    this.#uploads.add(upload);
    try {
      const location = await this.#take(request, upload);
      response.writeHead(201, { location }).end();
    } catch (error) {
      const failure = uploadFailure(error, request, name);
      for (const run of runs) run.fail(failure);
      refuse(request, response, failure.source === "external" ? 413 : 507);
    } finally {
      this.#uploads.delete(upload);
      resolve();
    }
  }

  async #take(request: IncomingMessage, { name, runs }: Upload): Promise<string> {
    request.setTimeout(IDLE_TIMEOUT_MS, () => request.destroy());
    // The request is not destroyed with the loop, so that a rejection can still be sent.
    const content = request.iterator({ destroyOnReturn: false });
    const mimeType = createUpload.shape.mime_type.safeParse(request.headers["content-type"]);
    const type = mimeType.data ?? "application/octet-stream";
    const file = await this.#folder.add(content, name, type);
    return this.#register(file, runs);
  }

  /** Removes the file if no run is left to own it. */
  async #register(file: ServedFile, runs: Set<RunFiles>): Promise<string> {
    const name = urlSafeName(file.name);
    const location = `${this.url}/${randomBytes(12).toString("base64url")}/${name}`;
    if (runs.size > 0) this.#files.set(location, { file, runs });
    else await this.#folder.remove(file);
    return location;
  }

  /** Cog 0.9.9 to 0.16 names the run; otherwise any current run may own the file. */
  #runsOf({ headers }: IncomingMessage): Set<RunFiles> {
    const named = [...this.#runs].filter(({ id }) => id === headers["x-prediction-id"]);
    return new Set(named.length > 0 ? named : this.#runs);
  }
}

/** One run's view of its container's files. */
export class RunFiles {
  readonly id: string;
  readonly #server: OutputServer;
  readonly #prefix: string;
  readonly #placed = new Map<string, string>();
  #failure: Failure | undefined;

  constructor(id: string, server: OutputServer) {
    this.id = id;
    this.#server = server;
    this.#prefix = `${server.url}/`;
  }

  /** The reason why a file of this run is missing, if one is. */
  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** Whether a text is a file URL of this container, or looks like one. */
  isAddress(text: string): boolean {
    return text.startsWith(this.#prefix);
  }

  isMentionedIn(text: string): boolean {
    return text.includes(this.#prefix);
  }

  /** @throws Failure for a URL without a file */
  find(location: string): ServedFile {
    const file = this.#server.find(this, location);
    if (file) return file;
    throw external("the output has the URL of a file that does not exist, or no longer exists");
  }

  add(content: Content, name: string, mime_type: string): Promise<ServedFile> {
    return this.#server.add(this, content, name, mime_type);
  }

  /**
   * Adds a file from a report. @returns its URL, which is the same for the same content, since
   * reports repeat files
   */
  async addReported(content: Content, name: string, mime_type: string): Promise<string> {
    const hash = createHash("sha256").update(`${mime_type}\n`);
    const location = await this.#server.addUpload(this, hashed(content, hash), name, mime_type);
    const key = hash.digest("hex");
    const existing = this.#placed.get(key);
    if (existing !== undefined) await this.#server.drop(location);
    else this.#placed.set(key, location);
    return existing ?? location;
  }

  fail(failure: Failure): void {
    this.#failure ??= failure;
  }

  /** Waits until no upload is in progress that may belong to this run. */
  settle(): Promise<void> {
    return this.#server.settle(this);
  }

  end(): Promise<void> {
    return this.#server.end(this);
  }
}

async function* hashed(content: Content, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    hash.update(piece);
    yield piece;
  }
}

function uploadFailure(error: unknown, request: IncomingMessage, name: string): Failure {
  if (error instanceof Failure) return error;
  const why = request.complete ? messageOf(error) : "the connection was closed";
  const failure = request.complete ? internal : external;
  return failure(`the upload of the file ${name} failed: ${why}`, { cause: error });
}

/** The name of an upload, without directories and invalid characters. */
function uploadName(rest: string): string {
  const [path = ""] = rest.split("?");
  return fileName(decoded(path));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function fileName(path: string): string {
  const name = basename(path).replace(/[\p{Cc}\\]/gu, "_");
  return /^\.*$/.test(name) ? "output" : name.slice(-MAX_NAME_CHARS).toWellFormed();
}

/** A name that every client encodes in the same way. */
const urlSafeName = (name: string): string => name.replace(/[^\w.-]/g, "_");
