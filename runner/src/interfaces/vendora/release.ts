/**
 * Whether a server has let go of requests whose connections were closed. It should have noticed;
 * one that has not works on for nobody, and only its end frees the machine.
 *
 * The server is looked at seldom, and once for all that wait: llama.cpp's notices a closed
 * connection only after a second in which no answer at all was due, and one to /metrics is such.
 */
import { sleep, untilAborted } from "../../../../src/lib/timeout.ts";
import type { ContainerClient } from "../container-client.ts";

/** Lines of Prometheus text: how many requests vLLM, SGLang, llama.cpp and TGI are at work on. */
const RUNNING =
  /^(vllm:num_requests_running|sglang:num_running_reqs|llamacpp:requests_processing|tgi_batch_current_size)(?:\{.*\})?[ \t]+(\S+)/gm;
/** These count while they work: once they have nothing to do, the last figure stands. */
const STALE = /^(vllm|sglang):/;

/** Milliseconds: for one answer; from a close to the first look; until a figure is stale. */
const ANSWER_TIMEOUT_MS = 2_000;
const FIRST_READ_MS = 50;
const STALE_AFTER_MS = 1_000;
/** The pause between two looks doubles up to so many times the first one. */
const MAX_POLL_FACTOR = 4;

type ServerState = "free" | "busy" | "stale";

export interface Server {
  client: ContainerClient;
  /** Where it says that it is well. */
  health: string;
  /** How many requests it is to be at work on, at most. */
  openCount: () => number;
  /** Milliseconds between two looks. */
  pollMs: number;
}

/** Those that wait for one server. */
export class ReleaseWatch {
  readonly #server: Server;
  #waiting = 0;
  /** Aborted once nobody waits any more. */
  #idle = new AbortController();
  #next: Promise<ServerState> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #pollMs: number;

  constructor(server: Server) {
    this.#server = server;
    this.#pollMs = server.pollMs;
  }

  /**
   * False when it could not be seen in time. `nudge` gives the server a small piece of work, which
   * makes it count again, and never rejects. `ended`: the container has ended, and let go.
   */
  async waitUntilFree(
    nudge: () => Promise<void>,
    timeoutMs: number,
    ended: AbortSignal,
  ): Promise<boolean> {
    const signal = AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)]);
    if (this.#waiting === 0) this.#idle = new AbortController();
    this.#waiting += 1;
    // Who waits for less than two looks would give it up after one that came too soon.
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
        // It is not one of those that a look disturbs.
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
  // One that came meanwhile may not have been counted.
  if (running <= Math.min(before, openCount())) return "free";
  return gauges.some(([, name = ""]) => STALE.test(name)) ? "stale" : "busy";
}
