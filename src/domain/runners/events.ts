/** What has become of a runner, for operators: the latest of it. */

export const EVENT_KINDS = [
  "started",
  "stopping",
  "stopped",
  "drained",
  "resumed",
  "lost",
  "silent",
  "set_aside",
  "gpu_lost",
  "gpu_back",
  "container_started",
  "container_stopped",
] as const;

export interface RunnerEvent {
  /** Unix ms. */
  at: number;
  kind: (typeof EVENT_KINDS)[number];
  /** A version, a GPU, a container's model; for times unix ms as text. */
  detail: string;
}

/** A runner's object stores them with all that it is told. */
const MAX_EVENTS = 100;
const MAX_DETAIL = 120;

/** One that is told twice stays one. */
export function withEvents(
  events: readonly RunnerEvent[],
  added: readonly RunnerEvent[],
): RunnerEvent[] {
  const known = new Set(events.map(keyOf));
  const all = [...events];
  for (const event of added.slice(-MAX_EVENTS)) {
    const short = { ...event, detail: event.detail.slice(0, MAX_DETAIL) };
    if (known.has(keyOf(short))) continue;
    known.add(keyOf(short));
    all.push(short);
  }
  return all.toSorted((a, b) => a.at - b.at).slice(-MAX_EVENTS);
}

const keyOf = ({ at, kind, detail }: RunnerEvent) => `${at} ${kind} ${detail}`;
