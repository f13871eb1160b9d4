/** Why jobs wait (domain/scheduling/decide/explain.ts), with the names of what the reasons are about. */
import { explain } from "../../domain/scheduling/decide/explain.ts";
import { explainClass } from "../../domain/scheduling/decide/explain-class.ts";
import type { PoolState } from "../../domain/scheduling/decide/pool-state.ts";
import type {
  ContainerName,
  NamedClassExplanation,
  NamedExplanation,
  SetAside,
} from "../../domain/scheduling/named-explanation.ts";
import type { ContainerNames } from "./container-names.ts";
import type { Crew } from "./crew.ts";
import type { Declines } from "./declines.ts";

interface ExplainerOptions {
  state: PoolState;
  crew: Crew;
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
    const { crew } = this.#options;
    const aside = [...crew.suspended()].filter(([id]) => {
      const runner = crew.get(id);
      return runner?.serves(hardware) && !runner.draining;
    });
    if (aside.length === 0) return undefined;
    return {
      runners: aside.map(([id, { reason }]) => ({ id, name: this.#nameOf(id), reason })),
      until: Math.min(...aside.map(([, { until }]) => until)),
    };
  }

  #nameOf(runnerId: string): string {
    return this.#options.crew.nameOf(runnerId) ?? runnerId;
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
