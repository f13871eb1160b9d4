/**
 * One container, from its pull to its end, and its users:
 *
 * starting → ready → ended. Runs join and leave it while it is ready. It stops when it has been
 * idle for its idle time, when it is retired and its last run has left, or on request.
 */
import { randomBytes } from "node:crypto";
import { settlesWithin, untilAborted } from "../../../src/lib/timeout.ts";
import type { Egress } from "../../../src/protocol/egress.ts";
import type { JobHardware } from "../../../src/protocol/runner.ts";
import type { ContainerState } from "../../../src/protocol/runner-state.ts";
import type { Device } from "../devices/device.ts";
import type { Lease } from "../devices/ledger.ts";
import {
  type ContainerFile,
  type Engine,
  type Exit,
  ImageGone,
  type RunningContainer,
  referenceOf,
} from "../engines/engine.ts";
import type { OutputFiles } from "../files/output-files.ts";
import type { OutputServer } from "../files/output-server.ts";
import type { Outcome, ServerInterface, Session, Timing } from "../interfaces/interface.ts";
import type { Log } from "../lib/log.ts";
import type { Weights } from "../weights/weights.ts";
import { Activity } from "./activity.ts";
import type { Endpoint } from "./callback-server.ts";
import { asFailure, external, type Failure, internal, withAdvice } from "./failure.ts";
import type { Measures } from "./measures.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { SelfDescription } from "./self-description.ts";
import { SetupFeed, type SetupListener } from "./setup-feed.ts";
import type { Specification } from "./specification.ts";
import { proxyVariables, type Tunnels } from "./tunnels.ts";

/** After this many failed runs in a row the container is to blame rather than the inputs. */
const MAX_FAILED_RUNS = 3;

/**
 * After this the kill has failed; the container counts against the pool until it is seen to end.
 */
const KILL_TIMEOUT_MS = 10_000;

export interface ContainerParts {
  engine: Engine;
  weights: Weights;
  server: ServerInterface;
  outputs: OutputFiles;
  tunnels: Tunnels;
  timing: Timing;
  measures: Measures;
  log: Log;
}

/** What a container is, before it is made. */
export interface ContainerPlan {
  id: string;
  specification: Specification;
  lease: Lease;
  /** Resolves when those whose GPUs and memory it takes over have ended. */
  room: Promise<unknown>;
}

export class Container {
  /** The holder of its GPUs. */
  readonly id: string;
  /** Released by the pool, once the container has ended. */
  readonly lease: Lease;
  readonly reference: string;
  /** Resolves when the container has ended; never rejects. */
  readonly ended: Promise<void>;
  /** Receives the files that the container uploads. */
  readonly files: OutputServer;
  readonly description = new SelfDescription();
  readonly #specification: Specification;
  readonly #room: Promise<unknown>;
  readonly #parts: ContainerParts;
  readonly #setup = new SetupFeed();
  readonly #ready = Promise.withResolvers<Session>();
  readonly #exit = new AbortController();
  readonly #halt = new AbortController();
  /** Its proxy, if its version limits egress to listed hosts. */
  #tunnel: Endpoint | undefined;
  #running: RunningContainer | undefined;
  #session: Session | undefined;
  #prepared: Prepared | undefined;
  #users = 0;
  readonly #activity: Activity;
  /** Users whose result is not wanted any more. */
  #abandoned = 0;
  /**
   * Whether runs have overlapped since it was last unused; if so, its logs belong to no single run.
   */
  #shared = false;
  #joins = 0;
  #failures = 0;
  /** Failed runs after which it may be dying. */
  #pendingVerdicts = 0;
  #retired = false;
  /** Set if it is to be killed once its last run has left. */
  #killReason: Failure | undefined;
  #stopping: Promise<void> | undefined;
  /** It was killed in vain. */
  #isStuck = false;
  #idle: NodeJS.Timeout | undefined;

  constructor({ id, specification, lease, room }: ContainerPlan, parts: ContainerParts) {
    this.id = id;
    this.lease = lease;
    this.#room = room;
    this.#specification = specification;
    this.#parts = parts;
    this.#activity = new Activity(specification.key, parts.measures);
    this.reference = referenceOf(specification.image);
    this.files = parts.outputs.createServer();
    // A start that fails while nobody waits for it is logged where it fails.
    this.#ready.promise.catch(() => {});
    this.ended = this.#lifecycle();
  }

  get key(): string {
    return this.#specification.key;
  }

  /** `owner/name:version`. */
  get model(): string {
    const { owner, name, version_number } = this.#specification.model;
    return `${owner}/${name}:${version_number}`;
  }

  get hardware(): JobHardware {
    return this.#specification.hardware;
  }

  get gpus(): readonly Device[] {
    return this.lease.gpus;
  }

  /** Whether it is going to end without anybody's doing, and release what it holds. */
  get isEnding(): boolean {
    return this.#retired && this.#users === 0 && !this.#isStuck;
  }

  /** Known after the pull. */
  get imageBytes(): number | undefined {
    return this.#prepared?.imageBytes;
  }

  get isReady(): boolean {
    return this.#session !== undefined && !this.#retired;
  }

  get hasRoom(): boolean {
    return this.#pendingVerdicts === 0 && this.#mayHaveRoom;
  }

  /** Whether it may have room, which will be known shortly. */
  get isSuspect(): boolean {
    return this.#pendingVerdicts > 0 && this.#mayHaveRoom;
  }

  get #mayHaveRoom(): boolean {
    return !this.#retired && this.#users < this.#specification.maxConcurrency;
  }

  /** Whether other runs have used it before the current one. */
  get hasRunBefore(): boolean {
    return this.#joins > 1;
  }

  get users(): number {
    return this.#users;
  }

  /** How it is, for the pool. */
  get state(): ContainerState {
    const { hardware, maxConcurrency } = this.#specification;
    return {
      name: this.id,
      key: this.key,
      image: this.reference,
      hardware: hardware.identifier,
      gpus: hardware.gpus,
      room: maxConcurrency,
      ...this.#activity.state(this.#users, !this.#retired),
    };
  }

  join(): void {
    clearTimeout(this.#idle);
    this.#shared = this.#users > 0;
    if (!this.#shared && this.#session) this.#running?.clearLogs();
    this.#users += 1;
    this.#joins += 1;
  }

  /** A run begins in it. @returns to be called when the run has ended */
  begin(): () => void {
    return this.#activity.run();
  }

  /** Resolves when it is known whether the container takes other runs. */
  async leave(idleSeconds: number, outcome?: Outcome): Promise<void> {
    this.#countOut(idleSeconds, outcome);
    if (!outcome?.verdict) return;
    this.#pendingVerdicts += 1;
    const verdict = await outcome.verdict;
    this.#pendingVerdicts -= 1;
    if (verdict !== "kept") this.retire();
  }

  #countOut(idleSeconds: number, outcome: Outcome | undefined): void {
    this.#users -= 1;
    this.#activity.left();
    if (outcome && !outcome.notContainersFault) {
      this.#failures = outcome.finish.status === "failed" ? this.#failures + 1 : 0;
    }
    if (outcome?.container === "retired" || this.#failures >= MAX_FAILED_RUNS) this.#retired = true;
    if (this.#users > 0) return this.#killIfAbandoned();
    if (this.#killReason) void this.kill(this.#killReason);
    else if (this.isReady && idleSeconds > 0)
      this.#idle = setTimeout(() => void this.stop(), idleSeconds * 1_000).unref();
    else void this.stop();
  }

  /** Reports the progress so far and from now on, until it is ready. */
  async session(listener: SetupListener, stop: AbortSignal): Promise<Session> {
    if (this.#session) {
      listener({ phase: "ready" });
      return this.#session;
    }
    const unsubscribe = this.#setup.subscribe(listener);
    try {
      return await untilAborted(this.#ready.promise, stop);
    } finally {
      unsubscribe();
    }
  }

  /** Opens a file of the container. */
  async read(path: string): Promise<ContainerFile> {
    if (this.#alive) return this.#alive.read(path);
    throw external(`the container ended before its file ${path} was read`);
  }

  /** Asks it to stop, then kills it. Resolves when it has ended, or will not end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Kills it; its runs fail with this reason. Resolves when it has ended, or will not end. */
  async kill(reason: Failure): Promise<void> {
    this.#retire(reason);
    await this.#killRunning();
  }

  /** Stops it once its last run has left. Until then it gets no new runs. */
  retire(): void {
    this.#retired = true;
    if (this.#users === 0) void this.stop();
  }

  /** Whether it may open a device file, if it has that; undefined if this cannot be found out. */
  async canOpen(device: string): Promise<boolean | undefined> {
    return this.#alive?.canOpen(device);
  }

  /**
   * To be called when a run in it is abandoned. The container is killed as soon as all of its runs
   * are: the others must not suffer. @returns what the run calls before it leaves
   */
  abandon(): () => void {
    this.#abandoned += 1;
    this.#killIfAbandoned();
    return () => {
      this.#abandoned -= 1;
    };
  }

  #killIfAbandoned(): void {
    if (this.#abandoned < this.#users || this.#halt.signal.aborted) return;
    void this.kill(internal("the prediction was abandoned"));
  }

  /** Kills it once the calling run is alone in it. Until then it gets no new runs. */
  async killOnceUnused(reason: Failure): Promise<void> {
    if (this.#users === 1) return this.kill(reason);
    this.#retired = true;
    this.#killReason = reason;
  }

  async #lifecycle(): Promise<void> {
    try {
      this.#session = await this.#start();
      this.#activity.ready();
      this.#setup.publish({ phase: "ready" });
      this.#ready.resolve(this.#session);
    } catch (error) {
      const failure = asFailure(error, this.#parts.log);
      this.#ready.reject(failure);
      this.#retire(failure);
      if (this.#alive) await this.#waitForEnd(this.#alive.kill(), KILL_TIMEOUT_MS);
    }
    await this.#running?.exited;
    this.#retired = true;
    clearTimeout(this.#idle);
    this.#session?.close();
    this.#tunnel?.close();
    await this.#prepared?.release();
    await this.files.close();
  }

  async #start(): Promise<Session> {
    const { engine, server } = this.#parts;
    const { image, model, egress, variables, interface: kind } = this.#specification;
    const { maxConcurrency } = this.#specification;
    const { signal } = this.#halt;
    this.#prepared = await prepare(this.#parts, this.#specification, this.#setup.publish, signal);
    const { mounts } = this.#prepared;
    await untilAborted(this.#room, signal);
    this.#setup.publish({ phase: "starting" });
    const token = randomBytes(32).toString("base64url");
    const uploadUrl = this.files.url;
    const environment = {
      ...server.environment(maxConcurrency, token),
      ...this.#proxyEnvironment(egress),
      AUSPEX_UPLOAD_URL: uploadUrl,
    };
    const options = {
      image,
      model,
      interface: kind,
      egress,
      variables,
      environment,
      uploadUrl,
      mounts,
      hardware: this.#specification.hardware,
      lease: this.lease,
    };
    const running = await engine.start(options, signal).catch(async (error: unknown) => {
      if (!(error instanceof ImageGone)) throw error;
      // Its weights may have taken longer than it stayed.
      await engine.pull(this.#specification, this.#setup.publish, signal);
      return engine.start(options, signal);
    });
    this.#running = running;
    const ended = this.#exit.signal;
    void running.exited.then((exit) => this.#exit.abort(this.#exitReason(exit)));
    const follow = (listener: (text: string) => void) => running.follow(listener);
    const connection = { address: running.address, token, maxConcurrency, ended, follow };
    const report = (logs: string) => this.#setup.publish({ phase: "starting", logs });
    const session = await server.connect(connection, report, signal).catch((error: unknown) => {
      throw withAdvice(error, running.setupAdvice);
    });
    // The setup output is not the first run's either.
    running.clearLogs();
    return session;
  }

  #proxyEnvironment(egress: Egress): Record<string, string> {
    if (typeof egress === "string") return {};
    this.#tunnel = this.#parts.tunnels.open(egress);
    return proxyVariables(this.#tunnel.url, new URL(this.files.url).hostname);
  }

  /** Why its runs ended: because the runner stopped it, or because it exited. */
  #exitReason({ description, logs, reason }: Exit): unknown {
    if (this.#halt.signal.aborted) return this.#halt.signal.reason;
    if (reason) return reason;
    const message = `the container ${description}`;
    if (!this.#session) return external(message, { setupLogs: logs });
    // Output of overlapping runs must not appear in this run's error.
    const showLogs = logs !== "" && !this.#shared;
    return external(showLogs ? `${message}:\n${logs}` : message);
  }

  #retire(reason: Failure): void {
    this.#retired = true;
    this.#activity.stopping();
    clearTimeout(this.#idle);
    this.#halt.abort(reason);
  }

  async #stop(): Promise<void> {
    this.#retire(internal("the runner stopped the container"));
    if (!this.#session || !this.#alive) return this.#killRunning();
    const { stopGraceMs } = this.#parts.timing;
    await this.#session.shutdown();
    await this.#waitForEnd(
      this.#alive?.stop(stopGraceMs) ?? this.ended,
      stopGraceMs + KILL_TIMEOUT_MS,
    );
  }

  get #alive(): RunningContainer | undefined {
    return this.#exit.signal.aborted ? undefined : this.#running;
  }

  /** A container that has not started is ended by the signal. */
  #killRunning(): Promise<void> {
    return this.#waitForEnd(this.#alive?.kill() ?? this.ended, KILL_TIMEOUT_MS);
  }

  async #waitForEnd(ending: Promise<void>, timeoutMs: number): Promise<void> {
    const logFailure = (cause: unknown) => asFailure(cause, this.#parts.log);
    const hasEnded = await settlesWithin(ending, timeoutMs).catch(logFailure);
    if (hasEnded !== true) {
      this.#isStuck = true;
      this.#parts.log.error("container does not end", { image: this.reference });
    }
  }
}
