/**
 * Whether a server has let go of a request whose connection was closed. It should have noticed;
 * one that has not works on for nobody, and only its end frees the machine.
 */
import { sleep, unlessAborted } from "../containers/wait.ts";
import type { ContainerClient } from "./http.ts";

/** Lines of Prometheus text: how many requests vLLM, SGLang, llama.cpp and TGI are at work on. */
const RUNNING =
  /^(vllm:num_requests_running|sglang:num_running_reqs|llamacpp:requests_processing|tgi_batch_current_size)(?:\{.*\})?[ \t]+(\S+)/gm;
/** These count while they work: once they have nothing to do, the last figure stands. */
const STALE = /^(vllm|sglang):/;

/** Milliseconds: for one answer; between two looks, at first and later; until a figure is stale. */
const LOOK_MS = 2_000;
const PAUSE = { first: 10, most: 500 };
const FRESH_MS = 1_000;

export interface Release {
  client: ContainerClient;
  /** Where the server says that it is well. */
  health: string;
  /** How many requests it is to be at work on, at most. */
  open: () => number;
  /** Gives it a small piece of work, which makes it count again. Never rejects. */
  nudge: () => Promise<void>;
  /** Milliseconds, for all of it. */
  patience: number;
}

/** False when it could not be seen in time. `gone`: the container has ended, and let go. */
export async function letGo(release: Release, gone: AbortSignal): Promise<boolean> {
  const over = AbortSignal.any([gone, AbortSignal.timeout(release.patience)]);
  try {
    return await unlessAborted(isFree(release, over), over);
  } catch (error) {
    if (error !== over.reason) throw error;
    return gone.aborted;
  }
}

async function isFree(release: Release, over: AbortSignal): Promise<boolean> {
  let nudgeAt = performance.now() + Math.min(FRESH_MS, release.patience / 4);
  for (let pause = PAUSE.first; !over.aborted; pause = Math.min(2 * pause, PAUSE.most)) {
    const seen = await look(release);
    if (seen === "free") return true;
    if (seen === "stale" && performance.now() > nudgeAt) {
      await release.nudge();
      nudgeAt = performance.now() + LOOK_MS;
    } else {
      await sleep(pause, over);
    }
  }
  return false;
}

async function look({ client, health, open }: Release): Promise<"free" | "busy" | "stale"> {
  const get = (path: string) =>
    client.call({ method: "GET", path, timeout: LOOK_MS }).catch(() => undefined);
  const metrics = await get("/metrics");
  if (metrics === undefined || (metrics.status >= 500 && metrics.status !== 501)) return "busy";
  const gauges = metrics.status === 200 ? [...metrics.body.matchAll(RUNNING)] : [];
  if (gauges.length === 0) return (await get(health))?.status === 200 ? "free" : "busy";
  const running = gauges.reduce((sum, [, , value]) => sum + Number(value), 0);
  if (running <= open()) return "free";
  return gauges.some(([, name = ""]) => STALE.test(name)) ? "stale" : "busy";
}
