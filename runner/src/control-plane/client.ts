/** Client of the control plane: one typed method per endpoint, one attempt per call. */
import type { IncomingMessage } from "node:http";
import { parseExact } from "../../../src/lib/exact-json.ts";
import { MAX_REPORTS, type ReportReply, reportsResponse } from "../../../src/protocol/channel.ts";
import { nothing } from "../../../src/protocol/common.ts";
import {
  type ClaimRequest,
  claimResponse,
  inputResponse,
  LEASE_HEADER,
  runnerUpload,
  type SessionRequest,
  type StateRequest,
  sessionResponse,
  storedFile,
  storedName,
  type TelemetryRequest,
  telemetryResponse,
} from "../../../src/protocol/runner.ts";
import type { RunnerLogRequest } from "../../../src/protocol/runner-log.ts";
import { snapshotResponse } from "../../../src/protocol/runner-state.ts";
import type { CreateUpload } from "../../../src/protocol/upload.ts";
import { open } from "../lib/http-client.ts";
import { VERSION } from "../lib/version.ts";
import { JsonClient, refusal } from "./json-client.ts";

export interface ControlPlaneOptions {
  url: string;
  token: string;
}

export interface ChannelAddress {
  url: string;
  headers: Record<string, string>;
}

/** A file that is small enough to send in one request. */
export interface WholeFile {
  name: string;
  mime_type: string;
  bytes: Uint8Array;
}

const CALL_TIMEOUT_MS = 15_000;
/** The timeout of a transfer: up to 16 MB over a slow connection. */
const TRANSFER_TIMEOUT_MS = 120_000;
/** A long poll ends by itself; an answer later than this never comes. */
const POLL_GRACE_MS = 10_000;

export class ControlPlane {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #service: JsonClient;
  readonly #reports: Reports;

  constructor({ url, token }: ControlPlaneOptions) {
    this.url = url.replace(/\/+$/, "");
    this.#headers = {
      authorization: `Bearer ${token}`,
      // Answers are not compressed: they are small, and compressing one takes longer than sending it.
      "accept-encoding": "identity",
      "user-agent": `auspex-runner/${VERSION}`,
    };
    this.#service = new JsonClient(this.url, this.#headers);
    this.#reports = new Reports(async (content) => {
      const call = { content, timeoutMs: CALL_TIMEOUT_MS };
      return (await this.#service.call("/v1/runner/reports", reportsResponse, call)).replies;
    });
  }

  register(body: SessionRequest, signal: AbortSignal) {
    const call = { body, timeoutMs: CALL_TIMEOUT_MS, signal };
    return this.#service.call("/v1/runner/sessions", sessionResponse, call);
  }

  claim(body: ClaimRequest, pollSeconds: number, signal: AbortSignal) {
    const timeoutMs = pollSeconds * 1000 + POLL_GRACE_MS;
    const call = { body, timeoutMs, signal, parse: parseExact };
    return this.#service.call("/v1/runner/jobs/claim", claimResponse, call);
  }

  reportState(body: StateRequest, signal: AbortSignal) {
    const call = { body, timeoutMs: CALL_TIMEOUT_MS, signal };
    return this.#service.call("/v1/runner/state", snapshotResponse, call);
  }

  async sendLog(body: RunnerLogRequest): Promise<void> {
    await this.#service.call("/v1/runner/log", nothing, { body, timeoutMs: CALL_TIMEOUT_MS });
  }

  async input(lease: string, signal: AbortSignal) {
    const headers = { [LEASE_HEADER]: lease };
    const call = { headers, timeoutMs: TRANSFER_TIMEOUT_MS, signal, parse: parseExact };
    return (await this.#service.call("/v1/runner/input", inputResponse, call)).input;
  }

  report(body: TelemetryRequest, signal: AbortSignal) {
    const call = { body, timeoutMs: CALL_TIMEOUT_MS, signal };
    return this.#service.call("/v1/runner/telemetry", telemetryResponse, call);
  }

  /** Sends the only frame of a short run, as text. The reply is the channel's. */
  finish(lease: string, frame: string): Promise<ReportReply> {
    return this.#reports.send({ lease, frame });
  }

  /** Reads a stored input file. The caller reads it to the end or aborts. */
  async file(lease: string, key: string, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { ...this.#headers, [LEASE_HEADER]: lease };
    const response = await open(new URL(`${this.url}/v1/runner/files/${key}`), { headers, signal });
    if (response.statusCode === 200) return response;
    throw await refusal(response);
  }

  storeFile(lease: string, { name, mime_type, bytes }: WholeFile, signal: AbortSignal) {
    const headers = { [LEASE_HEADER]: lease, "content-type": mime_type };
    const call = { content: bytes, headers, timeoutMs: TRANSFER_TIMEOUT_MS, signal };
    return this.#service.call(
      `/v1/runner/files?${new URLSearchParams({ name })}`,
      storedFile,
      call,
    );
  }

  beginUpload(lease: string, body: CreateUpload, signal: AbortSignal) {
    const call = { body, headers: { [LEASE_HEADER]: lease }, timeoutMs: CALL_TIMEOUT_MS, signal };
    return this.#service.call("/v1/runner/uploads", runnerUpload, call);
  }

  completeUpload(lease: string, id: string, etags: string[], signal: AbortSignal) {
    const headers = { [LEASE_HEADER]: lease };
    const call = { body: { etags }, headers, timeoutMs: TRANSFER_TIMEOUT_MS, signal };
    return this.#service.call(`/v1/runner/uploads/${id}/complete`, storedFile, call);
  }

  /** Stores a value as JSON text. Returns its name for a `stored` event. */
  async storeValue(lease: string, json: string, signal: AbortSignal) {
    const headers = { [LEASE_HEADER]: lease };
    const call = { content: json, headers, timeoutMs: TRANSFER_TIMEOUT_MS, signal };
    return (await this.#service.call("/v1/runner/values", storedName, call)).name;
  }

  channel(lease: string): ChannelAddress {
    return {
      url: `${this.url.replace(/^http/, "ws")}/v1/runner/channel`,
      headers: { ...this.#headers, [LEASE_HEADER]: lease },
    };
  }
}

export type FileStore = Pick<
  ControlPlane,
  "file" | "storeFile" | "beginUpload" | "completeUpload" | "storeValue"
>;

/** Reports wait for each other once this many requests are under way. */
export const MAX_UNDER_WAY = 4;
/** Reports wait at most this long: callers wait for them, and requests take long on a slow network. */
export const HOLD_MS = 20;
/** The largest request, unless a single report is larger. */
const MAX_CHARS = 256 * 1024;

interface Report {
  lease: string;
  /** JSON text, which is sent as a string. */
  frame: string;
}

interface Waiting extends Report {
  resolve: (reply: ReportReply) => void;
  reject: (error: unknown) => void;
}

/**
 * Sends the reports of short runs: each at once, or, while the runner is busy, with those that end
 * about then: with five in a request, such runs cost the control plane a seventh less.
 */
export class Reports {
  readonly #post: (body: string) => Promise<ReportReply[]>;
  #waiting: Waiting[] = [];
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param post sends the body of a request: JSON */
  constructor(post: (body: string) => Promise<ReportReply[]>) {
    this.#post = post;
  }

  /** @throws what the request that it was sent with has thrown */
  send(report: Report): Promise<ReportReply> {
    const { promise, resolve, reject } = Promise.withResolvers<ReportReply>();
    this.#waiting.push({ ...report, resolve, reject });
    if (this.#underWay < MAX_UNDER_WAY) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), HOLD_MS);
    return promise;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#waiting.length > 0) void this.#sendTogether(this.#take());
  }

  async #sendTogether(reports: Waiting[]): Promise<void> {
    this.#underWay += 1;
    try {
      const replies = await this.#post(bodyOf(reports));
      for (const [n, { resolve }] of reports.entries())
        resolve(replies[n] ?? { type: "refused", reason: "no reply" });
    } catch (error) {
      for (const { reject } of reports) reject(error);
    }
    this.#underWay -= 1;
    if (this.#underWay < MAX_UNDER_WAY) this.#flush();
  }

  #take(): Waiting[] {
    let chars = 0;
    const fits = ({ frame }: Waiting, n: number) => {
      chars += frame.length;
      return n === 0 || (n < MAX_REPORTS && chars <= MAX_CHARS);
    };
    const end = this.#waiting.findIndex((report, n) => !fits(report, n));
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }
}

const bodyOf = (reports: Report[]): string =>
  JSON.stringify({ reports: reports.map(({ lease, frame }) => ({ lease, frame })) });
