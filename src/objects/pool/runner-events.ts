/**
 * Events of the runners of a pool, for operators: they go to the runners' own objects every 30 s, all new
 * events of a runner in one call. However often a runner changes in between, only the difference counts.
 */
import type { RunnerEvent } from "../../domain/runners/events.ts";
import type { Suspension } from "../../domain/scheduling/runner-reliability.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { runnerAt } from "../stubs/runner.ts";
import type { ContainerNames } from "./containers.ts";
import type { PoolRunner } from "./pool-runner.ts";

/** The most events that are sent for one runner at a time: it may have 512 containers. */
const MAX_REPORTED = 20;

/** Lost GPUs, and containers, by their names for operators. */
interface Seen {
  lost: Map<string, string>;
  containers: Map<string, string>;
}

export class RunnerEvents {
  readonly #env: Bindings;
  readonly #names: ContainerNames;
  readonly #seen = new WeakMap<PoolRunner, Seen>();
  readonly #asides = new Map<string, RunnerEvent[]>();

  constructor(env: Bindings, names: ContainerNames) {
    this.#env = env;
    this.#names = names;
  }

  /** Begins with the runner's present state, which is no event. */
  begin(runner: PoolRunner): void {
    this.#seen.set(runner, this.#look(runner));
  }

  setAside(runnerId: string, { until, reason }: Suspension, now: number): void {
    const before = this.#asides.get(runnerId) ?? [];
    const detail = reason === null ? String(until) : `${until} ${reason}`;
    const event: RunnerEvent = { at: now, kind: "set_aside", detail };
    this.#asides.set(runnerId, [...before, event].slice(-MAX_REPORTED));
  }

  async report(runners: Iterable<PoolRunner>): Promise<void> {
    const reported = [...runners].flatMap((runner) => {
      const events = [...(this.#asides.get(runner.id) ?? []), ...this.#changesOf(runner)];
      return events.length === 0 ? [] : [{ id: runner.id, events: events.slice(0, MAX_REPORTED) }];
    });
    this.#asides.clear();
    await Promise.all(
      reported.map(({ id, events }) =>
        runnerAt(this.#env, id)
          .reportEvents(events)
          .catch((error) =>
            logger.warn("Events of a runner not reported", { runner_id: id, error }),
          ),
      ),
    );
  }

  #changesOf(runner: PoolRunner): RunnerEvent[] {
    const before = this.#seen.get(runner);
    const now = this.#look(runner);
    this.#seen.set(runner, now);
    if (!before) return [];
    const event = (kind: RunnerEvent["kind"]) => (detail: string) => ({
      at: runner.reportedAt,
      kind,
      detail,
    });
    return [
      ...without(now.lost, before.lost).map(event("gpu_lost")),
      ...without(before.lost, now.lost).map(event("gpu_back")),
      ...without(before.containers, now.containers).map(event("container_stopped")),
      ...without(now.containers, before.containers).map(event("container_started")),
    ];
  }

  #look({ snapshot: { devices, containers } }: PoolRunner): Seen {
    return {
      lost: new Map(
        devices.flatMap(({ id, name, lost }, n) => (lost ? [[id, `${n + 1}, ${name}`]] : [])),
      ),
      containers: new Map(
        containers.map(({ name, key, image, version }) => [
          name,
          version ?? this.#names.find(key)?.model?.name ?? image,
        ]),
      ),
    };
  }
}

/** Returns the names that are in the first map only; equal names once, with their number. */
function without(these: Map<string, string>, those: Map<string, string>): string[] {
  const names = [...these].flatMap(([key, called]) => (those.has(key) ? [] : [called]));
  return [...Map.groupBy(names, (name) => name)].map(([name, { length }]) =>
    length === 1 ? name : `${length} × ${name}`,
  );
}
