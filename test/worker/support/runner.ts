/** A runner that uses the real protocol: it claims jobs by fetch, and reports over the channel. */
import {
  type DownFrame,
  downFrame,
  type Finish,
  type ReportReply,
  reportsResponse,
} from "../../../src/protocol/channel.ts";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import {
  type ClaimRequest,
  claimResponse,
  type Job,
  LEASE_HEADER,
  RUNNER_PROTOCOL,
  type SessionRequest,
  type SessionResponse,
  sessionResponse,
  type TelemetryRequest,
  type TelemetryResponse,
} from "../../../src/protocol/runner.ts";
import type { RunnerSnapshot, SnapshotResponse } from "../../../src/protocol/runner-state.ts";
import { readyContainer, runnerSnapshot } from "../../protocol/runner-snapshot.ts";
import { type Answer, Client } from "./client.ts";

/** @param hardware a class, or several of one pool */
export const sessionBody = (hardware: string | string[], name: string, slots = 1) => ({
  protocol: RUNNER_PROTOCOL,
  name,
  hardware: [hardware].flat(),
  version: "0.1.0",
  engine: "process",
  slots,
  machine: { cpus: 1, memory_gb: 1, gpus: [] },
});

/** Devices that are enough for any class of the tests. */
const DEVICES = Array.from({ length: 8 }, (_, n) => ({
  id: `GPU-${n}`,
  name: "NVIDIA L40S",
  memory_gb: 48,
  holder: null,
}));

/** Returns setup times so short that the pool starts another container instead of waiting for a busy one. */
export const quickSetups = (key: string) => [{ key, setup_ms: 1, run_ms: 60_000 }];

/** Changes of a snapshot: `free` slots, and a ready container with room for each key in `warm`. */
export type SnapshotChanges = Partial<RunnerSnapshot> & { free?: number; warm?: string[] };

export type PollChanges = SnapshotChanges & Partial<Omit<ClaimRequest, "snapshot">>;

export class FakeRunner {
  readonly client: Client;
  readonly id: string;
  readonly session: string;
  /** The first of the runner's classes, and their pool. */
  readonly hardware: string;
  readonly pool: string;
  readonly #slots: number;
  /** Receipts that the next claim sends. */
  #receipts: string[] = [];
  #snapshots = 0;
  /** Numbers of the hand-outs that the runner has received. */
  readonly #handouts: number[] = [];

  private constructor(
    client: Client,
    { runner_id, session, pool }: SessionResponse,
    { hardware: [hardware = ""], slots }: Pick<SessionRequest, "hardware" | "slots">,
  ) {
    this.client = client;
    this.id = runner_id;
    this.session = session;
    this.hardware = hardware;
    this.pool = pool;
    this.#slots = slots;
  }

  /** Begins a session. The same name under the same token is the same runner. */
  static async begin(
    token: string,
    hardware: string | string[],
    name: string,
    slots = 1,
    changes: Partial<SessionRequest> = {},
  ): Promise<FakeRunner> {
    const client = new Client(token);
    const request = sessionBody(hardware, name, slots);
    const { status, body } = await client.json("POST", "/v1/runner/sessions", {
      ...request,
      ...changes,
    });
    if (status !== 200) throw new Error(`session answered ${status}: ${JSON.stringify(body)}`);
    return new FakeRunner(client, sessionResponse.parse(body), request);
  }

  /** Reports short runs, each with its only frame. */
  async reports(all: { lease: string; frame: object | string }[]): Promise<ReportReply[]> {
    const reports = all.map(({ lease, frame }) => ({
      lease,
      frame: typeof frame === "string" ? frame : JSON.stringify(frame),
    }));
    const { status, body } = await this.client.json("POST", "/v1/runner/reports", { reports });
    if (status !== 200) throw new Error(`reports answered ${status}: ${JSON.stringify(body)}`);
    return reportsResponse.parse(body).replies;
  }

  /** Reports one short run. */
  async report(lease: string, frame: object | string): Promise<ReportReply> {
    const [reply] = await this.reports([{ lease, frame }]);
    if (!reply) throw new Error("a report has no reply");
    return reply;
  }

  /** Returns the next snapshot of the runner. */
  snapshot({ free = this.#slots, warm = [], ...changes }: SnapshotChanges = {}): RunnerSnapshot {
    this.#snapshots += 1;
    return runnerSnapshot({
      number: this.#snapshots,
      handed: Math.max(0, ...this.#handouts),
      devices: DEVICES,
      slots: this.#slots,
      // The runner does not track which of its jobs have ended, so the last ones count as running.
      jobs: this.#jobs(this.#slots - free),
      containers: warm.map((key, n) =>
        readyContainer({
          name: `warm ${n}`,
          key,
          max_concurrency: this.#slots,
          hardware: this.hardware,
        }),
      ),
      receipts: this.#receipts.splice(0),
      ...changes,
    });
  }

  #jobs(count: number): number[] {
    if (count <= 0) return [];
    const known = this.#handouts.slice(-count);
    return [...known, ...Array.from({ length: count - known.length }, (_, n) => n + 1)];
  }

  poll(changes: PollChanges = {}, signal?: AbortSignal): Promise<Response> {
    const { runner_id = this.id, session = this.session, pool = this.pool, ...told } = changes;
    const { images = [], ...snapshot } = told;
    const claim: ClaimRequest = {
      runner_id,
      session,
      pool,
      images,
      snapshot: this.snapshot(snapshot),
    };
    return this.client.fetch("/v1/runner/jobs/claim", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(claim),
      ...(signal && { signal }),
    });
  }

  claim(changes: PollChanges = {}): Promise<Job[]> {
    const claiming = this.#claim(changes);
    // A test may end before its poll does, and the poll then fails with the next file's empty storage. A
    // caller that awaits `claiming` still sees the error.
    claiming.catch(() => {});
    return claiming;
  }

  async #claim(changes: PollChanges): Promise<Job[]> {
    const response = await this.poll(changes);
    if (response.status !== 200)
      throw new Error(`claim answered ${response.status}: ${await response.text()}`);
    return this.received(claimResponse.parse(await response.json()).jobs);
  }

  /** Notes the hand-outs of jobs, which later snapshots include. */
  received(jobs: Job[]): Job[] {
    this.#handouts.push(...jobs.map(({ handout }) => handout));
    return jobs;
  }

  /** Sends a snapshot without a poll. */
  tellState(changes: SnapshotChanges = {}): Promise<Answer<SnapshotResponse>> {
    const { id: runner_id, session, pool } = this;
    const snapshot = this.snapshot(changes);
    return this.client.json("POST", "/v1/runner/state", { runner_id, session, pool, snapshot });
  }

  /** Returns the next job; there must be one. */
  async take(): Promise<Job> {
    const [job] = await this.claim();
    if (!job) throw new Error("the poll was answered without a job");
    return job;
  }

  /** Sends telemetry. */
  tell(changes: Partial<TelemetryRequest> = {}): Promise<Answer<TelemetryResponse>> {
    return this.client.json("POST", "/v1/runner/telemetry", {
      runner_id: this.id,
      session: this.session,
      state: "ready",
      slots: this.#slots,
      running: [],
      warm: [],
      load: { cpu: 0.5, memory_used_gb: 1 },
      ...changes,
    });
  }

  async connect(job: Job): Promise<Channel> {
    const channel = await Channel.open(this.client, job.lease);
    this.#receipts.push(channel.receipt);
    return channel;
  }

  /** Takes the next job and reports for the first time, with the container ready. */
  async work(): Promise<{ job: Job; channel: Channel }> {
    const job = await this.take();
    const channel = await this.connect(job);
    await channel.report([{ event: "setup", data: { phase: "ready" } }]);
    return { job, channel };
  }
}

interface Closed {
  code: number;
  reason: string;
}

/** The longest wait for a frame: a runner that gave up on a slow machine would get no more jobs. */
const PATIENCE_MS = 30_000;

export class Channel {
  readonly socket: WebSocket;
  /** The sequence number of the last stored frame, as the welcome states it. */
  welcomed = -1;
  receipt = "";
  readonly closed: Promise<Closed>;
  /** The intervals of frames that the object has asked for, in order, ms. */
  readonly paces: number[] = [];
  readonly #frames: DownFrame[] = [];
  #wake: () => void = () => {};
  #seq = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.addEventListener("close", ({ code, reason }) => {
        resolve({ code, reason });
        this.#wake();
      });
    });
    socket.addEventListener("message", ({ data }) => {
      if (typeof data !== "string" || data === "pong") return;
      const frame = downFrame.parse(JSON.parse(data));
      if ("flush_ms" in frame && frame.flush_ms !== undefined) this.paces.push(frame.flush_ms);
      if (frame.type !== "flush") this.#frames.push(frame);
      this.#wake();
    });
    socket.accept();
  }

  static request(client: Client, lease: string): Promise<Response> {
    return client.fetch("/v1/runner/channel", {
      headers: { upgrade: "websocket", [LEASE_HEADER]: lease },
    });
  }

  static async open(client: Client, lease: string): Promise<Channel> {
    const { status, webSocket } = await Channel.request(client, lease);
    if (!webSocket) throw new Error(`the channel answered ${status}`);
    const channel = new Channel(webSocket);
    const first = await channel.next();
    if (first.type !== "welcome") throw new Error(`the channel began with ${first.type}`);
    channel.welcomed = first.seq;
    channel.receipt = first.receipt ?? "";
    channel.#seq = first.seq;
    return channel;
  }

  /** Returns the next frame from the object. */
  async next(): Promise<DownFrame> {
    while (this.#frames.length === 0) {
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error("no frame came")), PATIENCE_MS);
        this.#wake = () => {
          clearTimeout(late);
          if (this.#frames.length > 0 || this.socket.readyState === WebSocket.OPEN) resolve();
          else reject(new Error("the channel is closed"));
        };
      });
    }
    const [frame] = this.#frames.splice(0, 1);
    if (!frame) throw new Error("no frame came");
    return frame;
  }

  /** @param obey called with each cancel */
  onCancel(obey: () => void): void {
    this.socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string" && data.includes('"type":"cancel"')) obey();
    });
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** Sends a frame and returns the next reply, which is usually its ack. */
  async exchange(frame: unknown): Promise<DownFrame> {
    this.send(frame);
    return this.next();
  }

  /** Sends the next frame without waiting for its ack. @returns its number */
  push(events: ReportedEvent[], finish?: Finish): number {
    this.#seq += 1;
    this.send({ type: "events", seq: this.#seq, events, ...(finish && { finish }) });
    return this.#seq;
  }

  /** Waits until a frame is acknowledged. */
  async acknowledged(seq: number): Promise<void> {
    for (;;) {
      const answer = await this.next();
      if (answer.type !== "ack" || answer.seq > seq)
        throw new Error(`frame ${seq} was answered ${JSON.stringify(answer)}`);
      if (answer.seq === seq) return;
    }
  }

  /** Sends the next frame, which must be acknowledged. */
  report(events: ReportedEvent[], finish?: Finish): Promise<void> {
    return this.acknowledged(this.push(events, finish));
  }

  /** Sends a frame for each value, and waits for the ack of the last one. */
  async outputEach(values: string[]): Promise<void> {
    const seqs = values.map((data) => this.push([{ event: "output", data }]));
    await this.acknowledged(seqs.at(-1) ?? 0);
  }

  output(...values: string[]): Promise<void> {
    return this.report(values.map((data) => ({ event: "output", data })));
  }

  succeed(...values: string[]): Promise<void> {
    const events: ReportedEvent[] = values.map((data) => ({ event: "output", data }));
    return this.report(events, {
      status: "succeeded",
      output: values.length > 0 ? "items" : "none",
    });
  }

  close(): void {
    this.socket.close(1000, "done");
  }
}
