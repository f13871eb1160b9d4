/**
 * Whether a server has let go of requests whose connections were closed. It should have noticed;
 * one that has not works on for nobody, and only its end frees the machine.
 *
 * The server is looked at seldom, and once for all that wait: llama.cpp's notices a closed
 * connection only after a second in which no answer at all was due, and one to /metrics is such.
 */
import { sleep, unlessAborted } from "../../lib/wait.ts";
import type { ContainerClient } from "../http.ts";

/** Lines of Prometheus text: how many requests vLLM, SGLang, llama.cpp and TGI are at work on. */
const RUNNING =
  /^(vllm:num_requests_running|sglang:num_running_reqs|llamacpp:requests_processing|tgi_batch_current_size)(?:\{.*\})?[ \t]+(\S+)/gm;
/** These count while they work: once they have nothing to do, the last figure stands. */
const STALE = /^(vllm|sglang):/;

/** Milliseconds: for one answer; from a close to the first look; until a figure is stale. */
const LOOK_MS = 2_000;
const FIRST_MS = 50;
const FRESH_MS = 1_000;
/** The pause between two looks doubles up to so many times the first one. */
const MOST_PAUSES = 4;

type Sight = "free" | "busy" | "stale";

export interface Server {
  client: ContainerClient;
  /** Where it says that it is well. */
  health: string;
  /** How many requests it is to be at work on, at most. */
  open: () => number;
  /** Milliseconds between two looks. */
  pause: number;
}

/** Those that wait for one server. */
export class Release {
  readonly #server: Server;
  #waiting = 0;
  /** Aborted once nobody waits any more. */
  #idle = new AbortController();
  #next: Promise<Sight> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #pause: number;

  constructor(server: Server) {
    this.#server = server;
    this.#pause = server.pause;
  }

  /**
   * False when it could not be seen in time. `nudge` gives the server a small piece of work, which
   * makes it count again, and never rejects. `gone`: the container has ended, and let go.
   */
  async seen(nudge: () => Promise<void>, patience: number, gone: AbortSignal): Promise<boolean> {
    const over = AbortSignal.any([gone, AbortSignal.timeout(patience)]);
    if (this.#waiting === 0) this.#idle = new AbortController();
    this.#waiting += 1;
    // Who waits for less than two looks would give it up after one that came too soon.
    this.#pause = Math.min(this.#pause, patience / 4);
    try {
      const nudgeAt = performance.now() + Math.min(FRESH_MS, patience / 4);
      return await unlessAborted(this.#isFree(nudge, nudgeAt, over), over);
    } catch (error) {
      if (error !== over.reason) throw error;
      return gone.aborted;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#rest();
    }
  }

  #rest(): void {
    this.#idle.abort();
    this.#next = undefined;
    this.#pause = this.#server.pause;
  }

  async #isFree(nudge: () => Promise<void>, nudgeAt: number, over: AbortSignal): Promise<boolean> {
    while (!over.aborted) {
      this.#next ??= this.#look(this.#idle.signal).finally(() => {
        this.#next = undefined;
      });
      const sight = await this.#next;
      if (sight === "free") return true;
      if (sight === "stale" && performance.now() > nudgeAt) {
        await nudge();
        // It is not one of those that a look disturbs.
        this.#lookedAt = Number.NEGATIVE_INFINITY;
      }
    }
    return false;
  }

  async #look(idle: AbortSignal): Promise<Sight> {
    const since = performance.now() - this.#lookedAt;
    const rest = this.#pause - since;
    if (!(await sleep(Math.max(rest, Math.min(FIRST_MS, this.#server.pause)), idle))) return "busy";
    this.#pause = Math.min(2 * this.#pause, MOST_PAUSES * this.#server.pause);
    try {
      return await look(this.#server);
    } finally {
      this.#lookedAt = performance.now();
    }
  }
}

async function look({ client, health, open }: Server): Promise<Sight> {
  const get = (path: string) =>
    client.call({ method: "GET", path, timeout: LOOK_MS }).catch(() => undefined);
  const before = open();
  const metrics = await get("/metrics");
  if (metrics === undefined || (metrics.status >= 500 && metrics.status !== 501)) return "busy";
  const gauges = metrics.status === 200 ? [...metrics.body.matchAll(RUNNING)] : [];
  if (gauges.length === 0) return (await get(health))?.status === 200 ? "free" : "busy";
  const running = gauges.reduce((sum, [, , value]) => sum + Number(value), 0);
  // One that came meanwhile may not have been counted.
  if (running <= Math.min(before, open())) return "free";
  return gauges.some(([, name = ""]) => STALE.test(name)) ? "stale" : "busy";
}
