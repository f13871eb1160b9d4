/**
 * The pool of some hardware classes: the waiting jobs, and the runners that serve them.
 * domain/scheduling/decide chooses the runner of a job; the pool carries the decision out. Jobs are rows of
 * its SQLite. Polls and offers are only in memory, because both are repeated: a runner polls again, and a
 * prediction whose attempt no runner took dispatches itself again.
 */
import { DurableObject } from "cloudflare:workers";
import type { PoolGauges } from "../../domain/metrics/gauges.ts";
import type { PoolRunEstimate } from "../../domain/models/run-estimate.ts";
import { explainSome, type SomeReason } from "../../domain/scheduling/decide/explain-class.ts";
import type { NamedExplanation } from "../../domain/scheduling/explanation.ts";
import type { Suspension } from "../../domain/scheduling/runner-reliability.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { RunnerLogRequest } from "../../protocol/runner-log.ts";
import type { SnapshotResponse } from "../../protocol/runner-state.ts";
import { ReplacementCheck } from "../replacement-check.ts";
import {
  type CapacityClaim,
  type CapacityClaimStatus,
  type ClaimPreview,
  type FailedJob,
  type OfferedJob,
  type OfferResult,
  type PoolClaim,
  type PoolHolders,
  type PoolReport,
  type PoolStatus,
  type ReportedRunner,
  type ReportedRunnerLog,
  type ReportProblem,
  type RunnerCondition,
  registerPool,
} from "../stubs/pool.ts";
import { type AskedClaim, CapacityClaims } from "./capacity-claims.ts";
import { ConnectedRunners } from "./connected-runners.ts";
import { ContainerNames, StoredEstimates } from "./containers.ts";
import { Declines, Explainer } from "./explainer.ts";
import { PoolCounts, poolGauges } from "./gauges.ts";
import { type KnownRunner, KnownRunners } from "./known-runners.ts";
import { claimResponseText, type Handed, HeldPoll, watchToken } from "./polls.ts";
import { PoolLine } from "./pool-line.ts";
import type { PoolRunner } from "./pool-runner.ts";
import { RunnerEvents } from "./runner-events.ts";
import { RunnerLogs } from "./runner-logs.ts";
import { conditionOf, reportedRunner } from "./runner-report.ts";

export class PoolObject extends DurableObject<Bindings> {
  readonly #estimates = new StoredEstimates(this.ctx.storage.sql, settings(this.env).scheduling);
  readonly #state = this.#estimates.state;
  readonly #claims = new CapacityClaims(this.#state, this.ctx.storage.sql);
  readonly #names = new ContainerNames();
  readonly #connected = new ConnectedRunners({
    state: this.#state,
    sql: this.ctx.storage.sql,
    connectSeconds: settings(this.env).patience.connect_seconds,
    events: new RunnerEvents(this.env, this.#names),
    onUnclaimed: (handed) => this.#line.requeue(handed),
    onChange: () => this.#line.assign(),
  });
  readonly #declines = new Declines();
  readonly #explainer = new Explainer({
    state: this.#state,
    connected: this.#connected,
    declines: this.#declines,
    names: this.#names,
  });
  readonly #counts = new PoolCounts(this.ctx, this.env);
  readonly #line = new PoolLine({
    ctx: this.ctx,
    onEvicted: (containers) => this.#counts.add("evictions", containers),
    env: this.env,
    state: this.#state,
    connected: this.#connected,
    names: this.#names,
  });
  readonly #logs = new RunnerLogs();
  readonly #knownRunners = new KnownRunners(this.env);
  readonly #replacement = new ReplacementCheck(this.ctx);

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    ctx.waitUntil(registerPool(env, ctx.id.name));
  }

  // ---- for predictions

  /** The express lane: hands a new job to a runner that polls or is about to. */
  offer(offered: OfferedJob, job: WaitingJob): OfferResult {
    const now = Date.now();
    if (this.#line.offerNow({ job, since: now, offered })) return "taken";
    if (this.#line.count(job.user_id, now) >= settings(this.env).maxWaiting) return "full";
    this.#line.announce(job, now);
    return "none";
  }

  /**
   * Hands a job to a second runner, because the first has not connected.
   * @param receipt of the first attempt
   */
  offerSecond(offered: OfferedJob, job: WaitingJob, receipt: string): boolean {
    const first = this.#connected.reliability.holderOf(receipt)?.runnerId;
    return this.#line.offerNow({ job, since: Date.now(), offered }, first);
  }

  /** Adds jobs to the line. A job that is in it keeps its place. */
  enqueue(jobs: WaitingJob[]): void {
    for (const job of jobs) this.#line.enqueue({ job, since: Date.now() });
    this.#line.assign();
  }

  /**
   * Removes a job whose prediction has ended without a runner, or has fallen back.
   * @param mayReturn whether another job of the prediction may come
   */
  withdraw(objectId: string, mayReturn = false): void {
    this.#declines.forget(objectId);
    this.#line.withdraw(objectId, mayReturn);
  }

  /** Counts an attempt whose runner has not connected in time. */
  reportMissed(receipt: string): void {
    this.#connected.missed(receipt);
    this.#line.assign();
  }

  /** Settles an attempt that is no longer needed, because another runner connected first. */
  reportDismissed(receipt: string): void {
    this.#connected.dismissed(receipt);
    this.#line.assign();
  }

  /** Records that the machine of a runner failed to start a job, which goes to others first. */
  startFailed(job: WaitingJob, { failed_on, reason, waits }: FailedJob): void {
    const runnerId = failed_on.at(-1);
    const { model_owner_id: publisher, container_key: container } = job;
    if (runnerId) this.#connected.startFailed(runnerId, { publisher, container, reason });
    logger.warn("Start failed", { object_id: job.object_id, runner_id: runnerId, reason });
    if (waits) this.#line.waitsAgain(job, failed_on);
    this.#line.assign();
  }

  // ---- for operators and pages

  /**
   * Removes a runner that takes no more work. The end of its poll is not always noticed: workerd does
   * not treat an orderly close (FIN) as a disconnect, and would hand it jobs for up to 30 s.
   */
  removeRunner(runnerId: string, session: string): void {
    this.#connected.remove(runnerId, session);
    this.#line.assign();
  }

  /**
   * Takes over that an operator has drained, resumed or removed a runner.
   * @param forgive whether its misses are forgotten, as they are unless it was drained
   * @returns whether the runner was set aside until now
   */
  async refreshRunner(runnerId: string, forgive: boolean): Promise<boolean> {
    this.#knownRunners.forget(runnerId);
    const runner = this.#connected.get(runnerId);
    const known = runner && (await this.#knownRunners.find(runner.identity));
    const found = typeof known === "object" ? known : undefined;
    const isForgiven = this.#connected.refresh(runnerId, found, forgive);
    this.#line.assign();
    return isForgiven;
  }

  suspendedRunners(): Map<string, Suspension> {
    return this.#connected.reliability.suspended(Date.now());
  }

  conditions(): Map<string, RunnerCondition> {
    const now = Date.now();
    return new Map(
      [...this.#connected.all].map((one) => {
        const failed_starts = this.#connected.reliability.failedStarts.of(one.id) ?? null;
        return [one.id, { ...conditionOf(one, now), failed_starts }];
      }),
    );
  }

  /** @returns nothing for a runner that is not known here, or not any more */
  reports(runnerIds: string[]): Map<string, ReportedRunner> {
    const runners = runnerIds.flatMap((id) => this.#connected.get(id) ?? []);
    return new Map(runners.map((one) => [one.id, reportedRunner(one, this.#names)]));
  }

  /** Asks a runner for its log, and waits for it a little. `log` says whether it has come. */
  async askForLog(runnerId: string): Promise<void> {
    if (this.#logs.ask(runnerId, Date.now())) this.#connected.get(runnerId)?.poll?.answer([]);
    await this.#logs.answered(runnerId);
  }

  log(runnerId: string): ReportedRunnerLog {
    return this.#logs.read(runnerId, Date.now());
  }

  /**
   * The runners that need not download an image, as they reported last, the warm ones first. At most so many.
   */
  holders(
    job: Pick<WaitingJob, "hardware" | "image" | "container_key">,
    most: number,
  ): PoolHolders {
    const holders = [...this.#connected.all]
      .filter((runner) => runner.serves(job.hardware))
      .map((runner) => ({
        runner_id: runner.id,
        isWarm: runner.isWarm(job.container_key),
        hasImage: runner.images.has(job.image),
      }))
      .filter(({ isWarm, hasImage }) => isWarm || hasImage)
      .map(({ runner_id, isWarm }) => ({ runner_id, isWarm }))
      .toSorted((a, b) => Number(b.isWarm) - Number(a.isWarm));
    return { runners: holders.slice(0, most), more: Math.max(0, holders.length - most) };
  }

  runEstimate(job: Pick<WaitingJob, "hardware" | "gpus" | "container_key">): PoolRunEstimate {
    const { setup_ms, run_ms } = this.#state.estimates.measuredOf(job.container_key);
    const takers = [...this.#connected.all].filter(
      (runner) => !runner.draining && runner.serves(job.hardware),
    );
    return {
      isWarm: takers.some((runner) => !runner.isFull && runner.isWarm(job.container_key)),
      hasRoom: takers.some(({ id }) => {
        const box = this.#state.fleet.boxes.get(id);
        return box?.takes && box.couldFit(job.gpus);
      }),
      isServed: takers.length > 0,
      setup_ms: setup_ms ?? null,
      run_ms: run_ms ?? null,
    };
  }

  /** @returns null for a job that is not known here: it is on its way, or its run has begun */
  explain(objectId: string): NamedExplanation | null {
    return this.#explainer.explain(objectId);
  }

  waitOf(modelId: string): SomeReason[] {
    return explainSome(this.#state, this.#line.idsOf(modelId), Date.now());
  }

  /** @param hardware of one class; by default of all */
  status(hardware?: string): PoolStatus {
    const since = this.#line.oldest(hardware);
    return {
      waiting: hardware === undefined ? this.#line.size : this.#state.waitingFor(hardware),
      free: this.#connected.free(hardware),
      oldest_wait_ms: since === undefined ? null : Date.now() - since,
      median_wait_ms: this.#line.medianWaitMs(hardware),
      explanation: hardware === undefined ? null : this.#explainer.explainClass(hardware),
    };
  }

  /** Replaces the capacity claims of the pool's classes. */
  setCapacityClaims(claims: CapacityClaim[]): CapacityClaimStatus[] {
    const statuses = this.#claims.set(claims);
    this.#line.assign();
    return statuses;
  }

  capacityStatuses(ownerId: string): CapacityClaimStatus[] {
    return this.#claims.statusesOf(ownerId);
  }

  previewClaim(claim: AskedClaim): ClaimPreview {
    return this.#claims.preview(claim, this.#names, Date.now());
  }

  gauges(): Omit<PoolGauges, "pool"> {
    return poolGauges(this.#line.waitingCounts(), this.#connected, this.#names, Date.now());
  }

  // ---- for runners

  /** A runner's long poll. It is a request because its signal aborts when the runner disconnects. */
  override async fetch(request: Request): Promise<Response> {
    const claim: PoolClaim = await request.json();
    const known = await this.#knownRunners.find(claim);
    if (typeof known === "string") return Response.json(known, { status: 409 });
    const jobs = await this.#claim(claim, known, request.signal);
    if (typeof jobs === "string") return Response.json(jobs, { status: 409 });
    const wantsLog = this.#logs.isWanted(claim.runner_id, Date.now());
    const asked = { log: wantsLog, keep: this.#claims.keptBy(claim.runner_id) };
    return new Response(await claimResponseText(jobs, claim, settings(this.env), asked), {
      headers: { "content-type": "application/json" },
    });
  }

  async report(report: PoolReport): Promise<SnapshotResponse | ReportProblem> {
    const known = await this.#knownRunners.find(report);
    if (typeof known === "string") return known;
    if (!this.#connected.hasLeft(report)) {
      const runner = this.#receive(report, known);
      if (typeof runner === "string") return runner;
    }
    this.#line.assign();
    const wantsLog = this.#logs.isWanted(report.runner_id, Date.now());
    const keep = this.#claims.keptBy(report.runner_id);
    return {
      wanted: this.#line.size > 0,
      ...(keep.length > 0 && { keep }),
      ...(wantsLog && { log: true }),
    };
  }

  async takeLog({
    lines,
    ...identity
  }: RunnerLogRequest): Promise<"superseded" | "unknown" | undefined> {
    const known = await this.#knownRunners.find(identity);
    if (typeof known === "string") return known;
    this.#logs.take(identity.runner_id, lines, Date.now());
    return undefined;
  }

  async #claim(
    claim: PoolClaim,
    known: KnownRunner,
    signal: AbortSignal,
  ): Promise<Handed[] | ReportProblem> {
    // The runner may have disconnected while its session was looked up.
    if (signal.aborted) return [];
    const runner = this.#receive(claim, known);
    if (typeof runner === "string") return runner;
    const stopWatching = watchToken(this.env, claim, () =>
      this.removeRunner(runner.id, runner.session),
    );
    const release = this.#replacement.hold();
    const poll = new HeldPoll<Handed>({
      signal,
      onEnd: (isGone) => {
        stopWatching();
        release();
        this.#connected.pollEnded(runner, poll, isGone);
      },
    });
    this.#connected.pollBegan(runner, poll);
    this.#line.assign();
    return poll.items;
  }

  #receive(report: PoolReport, known: KnownRunner): PoolRunner | ReportProblem {
    const received = this.#connected.receive(report, known);
    if (typeof received === "string") return received;
    this.#estimates.learn(report.snapshot.measured);
    const starts = report.snapshot.measured.filter(({ setup_ms }) => setup_ms !== undefined);
    this.#counts.add("cold_starts", starts.length);
    const { runner, declined } = received;
    for (const { key, setup_ms } of report.snapshot.measured)
      if (setup_ms !== undefined)
        this.#connected.reliability.failedStarts.succeeded(
          runner.id,
          this.#names.find(key)?.model?.model_owner_id,
          key,
        );
    for (const one of declined) {
      this.#declines.add(one.job.object_id, runner.id, one.reason);
      this.ctx.waitUntil(this.#line.takeBack(runner, one));
    }
    return runner;
  }
}
