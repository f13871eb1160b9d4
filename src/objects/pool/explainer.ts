/** Why jobs wait (domain/scheduling/decide/explain.ts), with the names of models and runners. */

import { LRUCache } from "lru-cache";
import { explain } from "../../domain/scheduling/decide/explain.ts";
import { explainClass } from "../../domain/scheduling/decide/explain-class.ts";
import type { PoolState } from "../../domain/scheduling/decide/pool-state.ts";
import type {
  ContainerName,
  NamedClassExplanation,
  NamedExplanation,
  SetAside,
} from "../../domain/scheduling/explanation.ts";
import type { ConnectedRunners } from "./connected-runners.ts";
import type { ContainerNames } from "./containers.ts";

interface ExplainerOptions {
  state: PoolState;
  connected: ConnectedRunners;
  declines: Declines;
  names: ContainerNames;
}

export class Explainer {
  readonly #options: ExplainerOptions;

  constructor(options: ExplainerOptions) {
    this.#options = options;
  }

  explain(jobId: string): NamedExplanation | null {
    const { state, declines } = this.#options;
    const explanation = explain(state, jobId, Date.now());
    if (!explanation) return null;
    const { reason: why } = explanation;
    const set_aside = why.why === "no-box" ? this.#setAside(why.hardware) : undefined;
    if (set_aside) return { ...explanation, runners: set_aside.runners, stopped: [], set_aside };
    const runners = boxesIn(explanation.reason).map((id) => ({
      id,
      name: this.#nameOf(id),
      reason: declines.reason(jobId, id) ?? null,
    }));
    return { ...explanation, runners, stopped: this.#stoppedIn(explanation.reason) };
  }

  explainClass(hardware: string): NamedClassExplanation | null {
    const explanation = explainClass(this.#options.state, hardware, Date.now());
    if (!explanation) return null;
    const ids = explanation.reasons.flatMap(({ boxes }) => boxes);
    const names = Object.fromEntries(ids.map((id) => [id, this.#nameOf(id)]));
    return { ...explanation, names, set_aside: this.#setAside(hardware) };
  }

  #setAside(hardware: string): SetAside | undefined {
    const { connected } = this.#options;
    const aside = [...connected.reliability.suspended(Date.now())].filter(([id]) => {
      const runner = connected.get(id);
      return runner?.serves(hardware) && !runner.draining;
    });
    if (aside.length === 0) return undefined;
    return {
      runners: aside.map(([id, { reason }]) => ({ id, name: this.#nameOf(id), reason })),
      until: Math.min(...aside.map(([, { until }]) => until)),
    };
  }

  #nameOf(runnerId: string): string {
    return this.#options.connected.get(runnerId)?.name ?? runnerId;
  }

  #stoppedIn(reason: NamedExplanation["reason"]): ContainerName[] {
    if (reason.why !== "starting") return [];
    return reason.stopped.map((key) => this.#options.names.find(key) ?? UNKNOWN);
  }
}

const UNKNOWN: ContainerName = { image: "", model: null };

function boxesIn(reason: NamedExplanation["reason"]): string[] {
  if (reason.why === "declined") return reason.boxes;
  if (reason.why === "busy") return reason.reserved;
  return "box" in reason ? [reason.box] : [];
}

/** Why runners have declined a job. */

/** Jobs whose declines are kept. */
const MAX_JOBS = 10_000;

export class Declines {
  readonly #jobs = new LRUCache<string, Map<string, string>>({ max: MAX_JOBS });

  add(jobId: string, runnerId: string, reason: string): void {
    const all = this.#jobs.get(jobId) ?? new Map<string, string>();
    all.set(runnerId, reason);
    this.#jobs.set(jobId, all);
  }

  reason(jobId: string, runnerId: string): string | undefined {
    return this.#jobs.get(jobId)?.get(runnerId);
  }

  forget(jobId: string): void {
    this.#jobs.delete(jobId);
  }
}
