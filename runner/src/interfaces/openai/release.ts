/**
 * Detects whether a server has stopped working on requests whose connections were closed. A server that did
 * not notice goes on in vain, and only its end frees the machine.
 *
 * The server is checked rarely, and once for all waiters: llama.cpp notices a closed connection
 * only after a second without any response, and a response to /metrics counts.
 */
import { sleep, untilAborted } from "../../../../src/lib/timeout.ts";
import type { ContainerClient } from "../container-client.ts";

/** Prometheus metrics of vLLM, SGLang, llama.cpp and TGI: the number of requests in progress. */
const RUNNING =
  /^(vllm:num_requests_running|sglang:num_running_reqs|llamacpp:requests_processing|tgi_batch_current_size)(?:\{.*\})?[ \t]+(\S+)/gm;
/** Metrics that are updated only while the server works: an idle server keeps the last value. */
const STALE = /^(vllm|sglang):/;

/** The timeout of a check, the time from the close to the first check, and the age of a stale value. */
const ANSWER_TIMEOUT_MS = 2_000;
const FIRST_READ_MS = 50;
const STALE_AFTER_MS = 1_000;
/** The pause between two checks doubles up to this many times the first one. */
const MAX_POLL_FACTOR = 4;

type ServerState = "free" | "busy" | "stale";

export interface Server {
  client: ContainerClient;
  /** The path of the health check. */
  health: string;
  /** How many requests this runner has open there. */
  openCount: () => number;
  /** The pause between two checks. */
  pollMs: number;
}

/** The waiters of one server. */
export class ReleaseWatch {
  readonly #server: Server;
  #waiting = 0;
  /** Aborted when there are no waiters. */
  #idle = new AbortController();
  #next: Promise<ServerState> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #pollMs: number;

  constructor(server: Server) {
    this.#server = server;
    this.#pollMs = server.pollMs;
  }

  /**
   * Waits until the server has stopped working on closed requests. `nudge` gives the server a small
   * piece of work, which updates its metrics, and never rejects. `ended` is aborted when the
   * container has ended.
   * @returns false if that was not seen in time
   */
  async waitUntilFree(
    nudge: () => Promise<void>,
    timeoutMs: number,
    ended: AbortSignal,
  ): Promise<boolean> {
    const signal = AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)]);
    if (this.#waiting === 0) this.#idle = new AbortController();
    this.#waiting += 1;
    // Several checks are made, since a single one that comes too early would count as a timeout.
    this.#pollMs = Math.min(this.#pollMs, timeoutMs / 4);
    try {
      const nudgeAt = performance.now() + Math.min(STALE_AFTER_MS, timeoutMs / 4);
      return await untilAborted(this.#isFree(nudge, nudgeAt, signal), signal);
    } catch (error) {
      if (error !== signal.reason) throw error;
      return ended.aborted;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#reset();
    }
  }

  #reset(): void {
    this.#idle.abort();
    this.#next = undefined;
    this.#pollMs = this.#server.pollMs;
  }

  async #isFree(
    nudge: () => Promise<void>,
    nudgeAt: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    while (!signal.aborted) {
      this.#next ??= this.#readState(this.#idle.signal).finally(() => {
        this.#next = undefined;
      });
      const state = await this.#next;
      if (state === "free") return true;
      if (state === "stale" && performance.now() > nudgeAt) {
        await nudge();
        // The nudge is no check that delays llama.cpp's detection.
        this.#readAt = Number.NEGATIVE_INFINITY;
      }
    }
    return false;
  }

  async #readState(idle: AbortSignal): Promise<ServerState> {
    const sinceLast = performance.now() - this.#readAt;
    const remainingMs = this.#pollMs - sinceLast;
    if (!(await sleep(Math.max(remainingMs, Math.min(FIRST_READ_MS, this.#server.pollMs)), idle)))
      return "busy";
    this.#pollMs = Math.min(2 * this.#pollMs, MAX_POLL_FACTOR * this.#server.pollMs);
    try {
      return await readState(this.#server);
    } finally {
      this.#readAt = performance.now();
    }
  }
}

async function readState({ client, health, openCount }: Server): Promise<ServerState> {
  const get = (path: string) =>
    client.call({ method: "GET", path, timeoutMs: ANSWER_TIMEOUT_MS }).catch(() => undefined);
  const before = openCount();
  const metrics = await get("/metrics");
  if (metrics === undefined || (metrics.status >= 500 && metrics.status !== 501)) return "busy";
  const gauges = metrics.status === 200 ? [...metrics.body.matchAll(RUNNING)] : [];
  if (gauges.length === 0) return (await get(health))?.status === 200 ? "free" : "busy";
  const running = gauges.reduce((sum, [, , value]) => sum + Number(value), 0);
  // A request that arrived meanwhile may not be counted yet.
  if (running <= Math.min(before, openCount())) return "free";
  return gauges.some(([, name = ""]) => STALE.test(name)) ? "stale" : "busy";
}
