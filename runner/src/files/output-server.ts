/**
 * Where one container puts its files: `PUT {url}/{name}`, answered with an address of its own. The
 * file is on disk by then, since Cog waits 25 s at most. Whose it is only that address tells: with
 * several runs in a container, its owner is whoever has it in the output. It goes when the last of
 * those runs has ended that were there when it came.
 */
import { createHash, type Hash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { settlesWithin } from "../../../src/lib/timeout.ts";
import { createUpload } from "../../../src/protocol/upload.ts";
import { type CallbackServer, type Endpoint, refuse } from "../containers/callback-server.ts";
import { external, Failure, internal } from "../containers/failure.ts";
import { messageOf } from "../control-plane/error.ts";
import type { Content, LocalFile, OutputFolder } from "./output-folder.ts";

/** A container that stops in the middle of a file is cut off. */
const IDLE_TIMEOUT_MS = 60_000;
/**
 * The end of a run and of the connection of an upload that broke off come on different ways: the
 * connection may be a little later.
 */
const SETTLE_TIMEOUT_MS = 2_000;
const MAX_NAME_CHARS = 200;

interface ReceivedFile {
  file: LocalFile;
  /** The runs whose it may be. */
  runs: Set<RunFiles>;
}

/** An upload under way. */
interface Upload {
  name: string;
  /** Those of them that are still there. */
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

  constructor(server: CallbackServer, folder: OutputFolder) {
    this.#folder = folder;
    this.#opening = server.open((request, response, rest) =>
      this.#receive(request, response, rest),
    );
  }

  /** Without a slash at its end. */
  get url(): string {
    return this.#opening.url;
  }

  /** Before the container hears of the run. */
  begin(id: string): RunFiles {
    const run = new RunFiles(id, this);
    this.#runs.add(run);
    return run;
  }

  /** The file that was answered with this address; it stays until the run has ended. */
  find(run: RunFiles, location: string): LocalFile | undefined {
    const received = this.#files.get(location);
    received?.runs.add(run);
    return received?.file;
  }

  async add(run: RunFiles, content: Content, name: string, mime_type: string): Promise<LocalFile> {
    const file = await this.#folder.add(content, name, mime_type);
    this.#files.set(file.path, { file, runs: new Set([run]) });
    // One that ended meanwhile has nobody else to remove it.
    if (!this.#runs.has(run)) await this.#release(run);
    return file;
  }

  /** As though the container had uploaded it. */
  async place(run: RunFiles, content: Content, name: string, mime_type: string): Promise<string> {
    const file = await this.#folder.add(content, name, mime_type);
    return this.#register(file, new Set(this.#runs.has(run) ? [run] : []));
  }

  /** It was there already. */
  async drop(location: string): Promise<void> {
    const received = this.#files.get(location);
    this.#files.delete(location);
    if (received) await this.#folder.remove(received.file);
  }

  /** Waits for what may be this run's. */
  async settle(run: RunFiles): Promise<void> {
    const uploads = [...this.#uploads].filter(({ runs }) => runs.has(run));
    if (uploads.length === 0) return;
    if (await settlesWithin(Promise.all(uploads.map(({ ended }) => ended)), SETTLE_TIMEOUT_MS))
      return;
    // Of several runs it may be another's, which will hear of it.
    const left = uploads.find((upload) => this.#uploads.has(upload) && upload.runs.size === 1);
    if (left) run.fail(external(`the run ended before its file ${left.name} had come`));
  }

  async end(run: RunFiles): Promise<void> {
    this.#runs.delete(run);
    for (const { runs, cut } of this.#uploads) {
      // Nobody is left to claim it.
      if (runs.delete(run) && runs.size === 0) cut();
    }
    await this.#release(run);
    if (this.#closed && this.#runs.size === 0) await this.#folder.close();
  }

  /** The container is gone; runs that are storing its files are not. */
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
    // Nobody is there to claim it.
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
    // Not destroyed with the loop: a refusal has to be answered.
    const content = request.iterator({ destroyOnReturn: false });
    const mimeType = createUpload.shape.mime_type.safeParse(request.headers["content-type"]);
    const type = mimeType.data ?? "application/octet-stream";
    const file = await this.#folder.add(content, name, type);
    return this.#register(file, runs);
  }

  /** Where nobody is left to claim it, it goes. */
  async #register(file: LocalFile, runs: Set<RunFiles>): Promise<string> {
    const name = urlSafeName(file.name);
    const location = `${this.url}/${randomBytes(12).toString("base64url")}/${name}`;
    if (runs.size > 0) this.#files.set(location, { file, runs });
    else await this.#folder.remove(file);
    return location;
  }

  /** Cog 0.9.9 to 0.16 says whose it is; without that it may be anybody's who is there. */
  #runsOf({ headers }: IncomingMessage): Set<RunFiles> {
    const named = [...this.#runs].filter(({ id }) => id === headers["x-prediction-id"]);
    return new Set(named.length > 0 ? named : this.#runs);
  }
}

/** The share of one run in its container's files. */
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

  /** Why a file of this run is missing. */
  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** Whether a text is an address that this container was given, or looks like one. */
  isAddress(text: string): boolean {
    return text.startsWith(this.#prefix);
  }

  isMentionedIn(text: string): boolean {
    return text.includes(this.#prefix);
  }

  /** @throws Failure for an address that stands for no file */
  find(location: string): LocalFile {
    const file = this.#server.find(this, location);
    if (file) return file;
    throw external("the output has the address of a file that is not there, or not any more");
  }

  /** A file of this run that comes by another way than an upload. */
  add(content: Content, name: string, mime_type: string): Promise<LocalFile> {
    return this.#server.add(this, content, name, mime_type);
  }

  /** The address of one that came inside a report: the same for the same, for reports repeat them. */
  async place(content: Content, name: string, mime_type: string): Promise<string> {
    const hash = createHash("sha256").update(`${mime_type}\n`);
    const location = await this.#server.place(this, hashed(content, hash), name, mime_type);
    const key = hash.digest("hex");
    const existing = this.#placed.get(key);
    if (existing !== undefined) await this.#server.drop(location);
    else this.#placed.set(key, location);
    return existing ?? location;
  }

  fail(failure: Failure): void {
    this.#failure ??= failure;
  }

  /** Waits until nothing is under way that may be this run's. */
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
  const why = request.complete ? messageOf(error) : "its connection was cut off";
  const failure = request.complete ? internal : external;
  return failure(`the upload of the file ${name} failed: ${why}`, { cause: error });
}

/** What the upload is called: no folders, nothing that no file name holds. */
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

/** For an address that everybody spells in the same way. */
const urlSafeName = (name: string): string => name.replace(/[^\w.-]/g, "_");
