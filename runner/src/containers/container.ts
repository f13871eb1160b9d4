/**
 * One container, from its pull to its end, and its users:
 *
 * starting → ready → ended. Runs join and leave it while it is ready. It stops when it has been
 * idle for its idle time, when it is retired and its last run has left, or on request. A reload leaves it
 * running while it is idle.
 */
import { settlesWithin, untilAborted } from "../../../src/lib/timeout.ts";
import type { ContainerState } from "../../../src/protocol/runner-state.ts";
import { external, type Failure, internal } from "../../../src/run/failure.ts";
import type { Device } from "../devices/device.ts";
import type { Lease } from "../devices/ledger.ts";
import { type Exit, type RunningContainer, referenceOf } from "../engines/engine.ts";
import type { OutputFiles } from "../files/output-files.ts";
import type { ContainerFile } from "../files/output-references.ts";
import type { OutputServer } from "../files/output-server.ts";
import type { Outcome, Session, Timing } from "../interfaces/interface.ts";
import { asFailure } from "../lib/failure.ts";
import type { Log } from "../lib/log.ts";
import type { LeftContainer } from "./adoption.ts";
import {
  Launch,
  type LaunchParts,
  SelfDescription,
  SetupFeed,
  type SetupListener,
} from "./launch.ts";
import type { MemoryWatch } from "./memory-watch.ts";
import type { ContainerPlan, Specification } from "./specification.ts";
import { Activity, IdleTime, type Measures, Occupancy } from "./usage.ts";

/** A kill has failed after this long; the container counts against the pool until it is seen to end. */
const KILL_TIMEOUT_MS = 10_000;

/**
 * A container goes on loading at least this long after the job that it was started for has been canceled,
 * because the pool may hand another job to it.
 */
const MIN_LOADING_MS = 10_000;

export interface ContainerParts extends LaunchParts {
  outputs: OutputFiles;
  timing: Timing;
  measures: Measures;
  memory: Pick<MemoryWatch, "usedBy">;
  log: Log;
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
  readonly #parts: ContainerParts;
  readonly #launch: Launch;
  readonly #setup = new SetupFeed();
  readonly #ready = Promise.withResolvers<Session>();
  readonly #exit = new AbortController();
  readonly #halt = new AbortController();
  #running: RunningContainer | undefined;
  #session: Session | undefined;
  readonly #activity: Activity;
  readonly #occupancy: Occupancy;
  #crashOutput = "";
  #retired = false;
  /** Set if the container must be killed once its last run has left. */
  #killReason: Failure | undefined;
  #stopping: Promise<void> | undefined;
  /** Killing the container had no effect. */
  #isStuck = false;
  readonly #idle: IdleTime;

  constructor(
    { id, specification, lease, room, left, isClaimed = false }: ContainerPlan,
    parts: ContainerParts,
  ) {
    this.id = id;
    this.#idle = new IdleTime(() => void this.stop(), isClaimed);
    this.lease = lease;
    this.#specification = specification;
    this.#parts = parts;
    this.#activity = new Activity(specification.key, parts.measures);
    this.#occupancy = new Occupancy(left?.has_run === true);
    this.reference = referenceOf(specification.image);
    this.files = parts.outputs.createServer(left?.upload_url);
    // A failed start that no job waits for is logged where it fails.
    this.#ready.promise.catch(() => {});
    this.#launch = new Launch(parts, {
      specification,
      lease,
      room,
      files: this.files,
      publish: this.#setup.publish,
      onRunning: (running) => this.#begun(running),
      ended: this.#exit.signal,
      signal: this.#halt.signal,
    });
    this.ended = this.#lifecycle(left);
  }

  get key(): string {
    return this.#specification.key;
  }

  /** `owner/name:version`. */
  get model(): string {
    const { owner, name, version_number } = this.#specification.model;
    return `${owner}/${name}:${version_number}`;
  }

  get gpus(): readonly Device[] {
    return this.lease.gpus;
  }

  /** Whether the container will end by itself and release its lease. */
  get isEnding(): boolean {
    return this.#retired && this.users === 0 && !this.#isStuck;
  }

  /** Output that the container printed before it exited during a run; empty if several runs share it. */
  get crashOutput(): string {
    return this.#crashOutput;
  }

  /** The size of the image; known after the pull. */
  get imageBytes(): number | undefined {
    return this.#launch.imageBytes;
  }

  get isReady(): boolean {
    return this.#session !== undefined && !this.#retired;
  }

  /** Whether the container may stop to make room for another, if the pool says so. */
  get isUnused(): boolean {
    return !this.#retired && this.users === 0;
  }

  /** Whether the runner itself may stop the container to make room for another. */
  get isEvictable(): boolean {
    return this.isUnused && !this.#idle.isClaimed;
  }

  get hasRoom(): boolean {
    return !this.#occupancy.isSuspect && this.#mayHaveRoom;
  }

  /** Whether the container may have room, which will be known shortly. */
  get isSuspect(): boolean {
    return this.#occupancy.isSuspect && this.#mayHaveRoom;
  }

  get #mayHaveRoom(): boolean {
    return !this.#retired && this.users < this.#specification.maxConcurrency;
  }

  get hasRunBefore(): boolean {
    return this.#occupancy.hasRunBefore;
  }

  get users(): number {
    return this.#occupancy.users;
  }

  get serverAddress(): URL | undefined {
    return this.#session && this.#alive?.address;
  }

  get state(): ContainerState {
    const { hardware, maxConcurrency } = this.#specification;
    return {
      name: this.id,
      key: this.key,
      image: this.reference,
      version: this.model,
      hardware: hardware.identifier,
      gpus: hardware.gpus,
      max_concurrency: maxConcurrency,
      ...this.#activity.state(this.users, !this.#retired),
      ...(this.#running && this.#parts.memory.usedBy(this.#running)),
    };
  }

  /** @param run its id in the container */
  join(run: string): void {
    this.#idle.end();
    this.#occupancy.join(run);
    if (!this.#occupancy.isShared && this.#session) this.#running?.clearLogs();
  }

  claim(isClaimed: boolean): void {
    this.#idle.claim(isClaimed, this.users === 0);
  }

  /** Begins a run in the container. @returns as `Activity.run` */
  begin(): ReturnType<Activity["run"]> {
    return this.#activity.run();
  }

  /** Milliseconds of the setup so far, for the run that the container was started for; 0 for other runs. */
  setupMsOf(run: string): number {
    return this.#occupancy.startedFor === run ? this.#activity.setupMs : 0;
  }

  /**
   * Resolves when it is known whether the container takes other runs.
   * @param isAbandoned the service has given up the user, such as for a setup that takes too long
   */
  async leave(idleSeconds: number, outcome?: Outcome, isAbandoned = false): Promise<void> {
    this.#countOut(idleSeconds, outcome, isAbandoned);
    if (outcome?.verdict && !(await this.#occupancy.judge(outcome.verdict))) this.retire();
  }

  #countOut(idleSeconds: number, outcome: Outcome | undefined, isAbandoned: boolean): void {
    this.#occupancy.leave(outcome);
    this.#activity.left();
    if (outcome?.container === "retired" || this.#occupancy.isToBlame) this.#retired = true;
    if (this.users > 0) return this.#killIfAbandoned();
    this.#idle.ms = idleSeconds * 1_000;
    if (this.#killReason) void this.kill(this.#killReason);
    else if (this.#retired || (this.#session ? !this.#idle.isKept : isAbandoned)) void this.stop();
    else this.#idle.begin(this.#session ? 0 : MIN_LOADING_MS);
  }

  /** Resolves when the container is ready, or will not be. */
  get ready(): Promise<unknown> {
    return this.#ready.promise.catch(() => undefined);
  }

  /** @returns what the next process needs to adopt the container; undefined if it is not idle */
  get left(): LeftContainer | undefined {
    const { left } = this.#launch;
    const isIdle = this.isReady && this.users === 0 && !this.#occupancy.isSuspect;
    if (!isIdle || !left) return undefined;
    const idle_until = Date.now() + this.#idle.left(this.#activity.idleMs);
    const gpus = this.gpus.map(({ id }) => id);
    return { ...left, name: this.id, gpus, idle_until, has_run: this.#occupancy.hasBeenUsed };
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

  async read(path: string): Promise<ContainerFile> {
    if (this.#alive) return this.#alive.read(path);
    throw external(`the container exited before its file ${path} was read`);
  }

  /** Asks the container to stop, then kills it. Resolves when the container has ended, or will not end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /**
   * Kills the container; its runs fail with `reason`. Resolves when the container has ended, or will not end.
   */
  async kill(reason: Failure): Promise<void> {
    this.#retire(reason);
    await this.#killRunning();
  }

  /** Stops the container once its last run has left. The container gets no new runs until then. */
  retire(): void {
    this.#retired = true;
    if (this.users === 0) void this.stop();
  }

  async canOpen(device: string): Promise<boolean | undefined> {
    return this.#alive?.canOpen(device);
  }

  /**
   * Call this when a run in the container is abandoned. The container is killed once all of its runs are
   * abandoned, so that no other run suffers.
   * @returns what the run calls before it leaves
   */
  abandon(): () => void {
    const forget = this.#occupancy.abandon();
    this.#killIfAbandoned();
    return forget;
  }

  #killIfAbandoned(): void {
    if (!this.#occupancy.isAbandoned || this.#halt.signal.aborted) return;
    void this.kill(internal("the prediction was abandoned"));
  }

  /** Kills the container once the calling run is alone in it. The container gets no new runs until then. */
  async killOnceUnused(reason: Failure): Promise<void> {
    if (this.users === 1) return this.kill(reason);
    this.#retired = true;
    this.#killReason = reason;
  }

  async #lifecycle(left: LeftContainer | undefined): Promise<void> {
    try {
      this.#session = left ? await this.#launch.adopt(left) : await this.#launch.start();
      if (left) this.#adopted(left);
      else this.#activity.ready();
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
    this.#idle.end();
    this.#session?.close();
    await this.#launch.release();
    await this.files.close();
  }

  #begun(running: RunningContainer): void {
    this.#running = running;
    void running.exited.then((exit) => this.#exit.abort(this.#exitReason(exit)));
  }

  #adopted({ idle_until }: LeftContainer): void {
    this.#activity.adopted();
    this.#idle.ms = Math.max(idle_until - Date.now(), 0);
    if (this.users === 0) this.#idle.begin();
  }

  /** The reason why the runs ended: the runner stopped the container, or the container exited. */
  #exitReason({ description, logs, reason }: Exit): unknown {
    if (this.#halt.signal.aborted) return this.#halt.signal.reason;
    if (reason) return reason;
    const message = `the container ${description}`;
    if (!this.#session) return external(message, { setupLogs: logs });
    // Output of overlapping runs must not appear in this run's error.
    const showLogs = logs !== "" && !this.#occupancy.isShared;
    if (showLogs) this.#crashOutput = logs;
    return external(showLogs ? `${message}:\n${logs}` : message);
  }

  #retire(reason: Failure): void {
    this.#retired = true;
    this.#activity.stopping();
    this.#idle.end();
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
