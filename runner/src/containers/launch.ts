/**
 * Makes a container's server ready: fetches the image and the weights, starts the container, and connects its
 * interface. An adopted container is connected again.
 */
import { randomBytes } from "node:crypto";
import { untilAborted } from "../../../src/lib/timeout.ts";
import type { Egress } from "../../../src/protocol/egress.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import { internal } from "../../../src/run/failure.ts";
import type { Lease } from "../devices/ledger.ts";
import {
  type Engine,
  ImageGone,
  type ReportProgress,
  type RunningContainer,
} from "../engines/engine.ts";
import type { OutputServer } from "../files/output-server.ts";
import type { ServerInterface, Session } from "../interfaces/interface.ts";
import { ListenWatch } from "../interfaces/listen-watch.ts";
import type { Endpoint } from "../lib/callback-server.ts";
import { withAdvice } from "../lib/failure.ts";
import { joinProgress } from "../weights/progress.ts";
import type { MountedWeights, Weights } from "../weights/weights.ts";
import type { LeftContainer } from "./adoption.ts";
import type { Specification } from "./specification.ts";
import { proxyVariables, type Tunnels } from "./tunnels.ts";

export interface LaunchParts {
  engine: Engine;
  weights: Weights;
  server: ServerInterface;
  tunnels: Tunnels;
}

interface LaunchOptions {
  specification: Specification;
  lease: Lease;
  /** Resolves when the containers whose GPUs and memory this one takes over have ended. */
  room: Promise<unknown>;
  files: OutputServer;
  publish: SetupListener;
  /** Called with the container as soon as it runs. */
  onRunning: (running: RunningContainer) => void;
  ended: AbortSignal;
  /** Aborted to give up. */
  signal: AbortSignal;
}

export class Launch {
  readonly #parts: LaunchParts;
  readonly #options: LaunchOptions;
  #token = randomBytes(32).toString("base64url");
  #prepared: Prepared | undefined;
  /** The container's proxy, if the version limits egress to listed hosts. */
  #tunnel: Endpoint | undefined;
  #running: RunningContainer | undefined;

  constructor(parts: LaunchParts, options: LaunchOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** The size of the image; known after the pull. */
  get imageBytes(): number | undefined {
    return this.#prepared?.imageBytes;
  }

  /** @throws Failure; the signal's reason */
  async start(): Promise<Session> {
    const { engine, server } = this.#parts;
    const { specification, publish, signal, files, lease } = this.#options;
    const { image, model, egress, variables, interface: kind, hardware } = specification;
    this.#prepared = await prepare(this.#parts, specification, publish, signal);
    await untilAborted(this.#options.room, signal);
    publish({ phase: "starting" });
    const environment = {
      ...server.environment(specification.maxConcurrency, this.#token),
      ...this.#proxyEnvironment(egress),
      AUSPEX_UPLOAD_URL: files.url,
    };
    const options = {
      image,
      model,
      interface: kind,
      egress,
      variables,
      environment,
      uploadUrl: files.url,
      mounts: this.#prepared.mounts,
      hardware,
      lease,
    };
    const running = await engine.start(options, signal).catch(async (error: unknown) => {
      if (!(error instanceof ImageGone)) throw error;
      // The image was removed while the weights were fetched: pull it again.
      await engine.pull(specification, publish, signal);
      return engine.start(options, signal);
    });
    this.#begun(running);
    const session = await this.#connect(running);
    // The setup output is not the first run's either.
    running.clearLogs();
    return session;
  }

  /** @throws Failure; the signal's reason */
  async adopt(left: LeftContainer): Promise<Session> {
    const { engine, weights, tunnels } = this.#parts;
    const { egress, image } = this.#options.specification;
    if (!engine.adopt) throw new Error("this engine leaves no containers");
    const running = engine.adopt(left.handle, image);
    this.#begun(running);
    this.#token = left.token;
    if (typeof egress !== "string") this.#tunnel = tunnels.open(egress, left.proxy_url);
    const { weights_folder: folder, image_bytes: imageBytes } = left;
    this.#prepared = { imageBytes, ...(folder === undefined ? NOTHING : weights.adopt(folder)) };
    return this.#connect(running);
  }

  /** @returns what the next process needs to adopt the container; undefined if it ends with this process */
  get left() {
    const { specification, files } = this.#options;
    const handle = this.#running?.handle;
    if (!handle || !this.#prepared) return undefined;
    const { model, image, keys, interface: kind, hardware, egress } = specification;
    const { folder, imageBytes } = this.#prepared;
    return {
      model,
      image,
      keys,
      interface: kind,
      hardware,
      egress,
      max_concurrency: specification.maxConcurrency,
      handle,
      token: this.#token,
      upload_url: files.url,
      ...(this.#tunnel && { proxy_url: this.#tunnel.url }),
      ...(folder !== undefined && { weights_folder: folder }),
      image_bytes: imageBytes,
    };
  }

  /** To be called once the container has ended. */
  async release(): Promise<void> {
    this.#tunnel?.close();
    await this.#prepared?.release();
  }

  #begun(running: RunningContainer): void {
    this.#running = running;
    this.#options.onRunning(running);
  }

  #connect(running: RunningContainer): Promise<Session> {
    const { server } = this.#parts;
    const { publish, ended, signal, specification } = this.#options;
    const { maxConcurrency, listenSeconds: limitSeconds } = specification;
    const follow = (listener: (text: string) => void) => running.follow(listener);
    const { address, listening } = running;
    let message: string | undefined;
    const report = (logs: string) =>
      publish({ phase: "starting", logs, ...(message !== undefined && { message }) });
    const onNotice = (text: string | undefined) => {
      message = text;
      report(text === undefined ? "" : `[auspex] ${text}\n`);
    };
    const watch = listening && new ListenWatch({ listening, limitSeconds, onNotice });
    const connection = { address, token: this.#token, maxConcurrency, ended, follow, watch };
    return server.connect(connection, report, signal).catch((error: unknown) => {
      throw withAdvice(error, running.setupAdvice);
    });
  }

  #proxyEnvironment(egress: Egress): Record<string, string> {
    if (typeof egress === "string") return {};
    this.#tunnel = this.#parts.tunnels.open(egress);
    return proxyVariables(this.#tunnel.url, new URL(this.#options.files.url).hostname);
  }
}

const NOTHING = { mounts: [], async release() {} };

/** The image and the weights of a container, fetched at the same time before it starts. */
interface Prepared extends MountedWeights {
  /** The size of the unpacked image. */
  imageBytes: number;
}

/** Holds nothing if it fails. @throws Failure; the signal's reason */
export async function prepare(
  { engine, weights }: { engine: Engine; weights: Pick<Weights, "open"> },
  specification: Specification,
  report: ReportProgress,
  signal: AbortSignal,
): Promise<Prepared> {
  if (specification.weights.length === 0) {
    const imageBytes = await engine.pull(specification, report, signal);
    return { imageBytes, mounts: [], async release() {} };
  }
  if (engine.noMounts !== undefined) throw internal(engine.noMounts);
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const [ofImage, ofWeights] = joinProgress(report);
  const pulling = engine.pull(specification, ofImage.report, both).finally(ofImage.end);
  const opening = weights.open(specification, ofWeights.report, both).finally(ofWeights.end);
  try {
    const [imageBytes, mounted] = await Promise.all([pulling, opening]);
    return { imageBytes, ...mounted };
  } catch (error) {
    failed.abort(error);
    await opening.then(({ release }) => release()).catch(() => {});
    throw error;
  }
}

export class SelfDescription {
  #description: ServerDescription | undefined;
  #first: Promise<void> | undefined;
  #isAsked = false;

  /** Asks the server while the run goes on, unless it has answered or is being asked already. */
  ask(session: Session): void {
    if (this.#description || this.#isAsked) return;
    this.#isAsked = true;
    const asking = this.#ask(session);
    this.#first ??= asking;
  }

  /**
   * Call this when a run that has asked has ended. It waits for the first answer only: a server that never
   * answers would delay each run by seconds. The answer of a slow server is there by a later run.
   */
  async read(): Promise<ServerDescription | undefined> {
    await this.#first;
    return this.#description;
  }

  async #ask(session: Session): Promise<void> {
    this.#description = await session.describe();
    this.#isAsked = false;
  }
}

/** Characters of logs kept for runs that join while the container starts. */
const MAX_LOG_CHARS = 100_000;

export type SetupListener = (progress: SetupProgress) => void;

export class SetupFeed {
  readonly #listeners = new Set<SetupListener>();
  #phase: SetupProgress | undefined;
  #logs = "";

  readonly publish = (progress: SetupProgress): void => {
    const { logs, ...phase } = progress;
    this.#phase = phase;
    this.#logs = (this.#logs + (logs ?? "")).slice(-MAX_LOG_CHARS);
    for (const listener of this.#listeners) listener(progress);
  };

  /**
   * Calls the listener with the progress so far and with later progress.
   * @returns a function that ends the calls
   */
  subscribe(listener: SetupListener): () => void {
    if (this.#phase) listener(this.#phase);
    if (this.#phase && this.#logs) listener({ ...this.#phase, logs: this.#logs });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
