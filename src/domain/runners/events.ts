/** The latest events of a runner, for operators. */
import type { RUNNER_EVENT_KINDS } from "../../protocol/runner-log.ts";

export interface RunnerEvent {
  /** Unix ms. */
  at: number;
  kind: (typeof RUNNER_EVENT_KINDS)[number];
  /** A version, a GPU, or a container's model; times are Unix ms as text. */
  detail: string;
  /** The id of the account whose operator did it. */
  by?: string | undefined;
}

/**
 * The groups of events, each with a limit of its own: those of operators, of the runner's processes, and the
 * rest. So a runner that starts again and again, or whose containers do, does not displace the other events.
 * A runner's object stores all of them together.
 */
const GROUPS: [kinds: RunnerEvent["kind"][], max: number][] = [
  [["drained", "resumed", "forgiven", "token_revoked"], 20],
  [["started", "stopping", "stopped", "lost", "silent"], 40],
  [["set_aside", "gpu_lost", "gpu_back"], 20],
  [["container_started", "container_stopped"], 40],
];
const MAX_ADDED = 100;
const MAX_DETAIL = 120;

/** Adds events. An event that is reported twice is kept once. */
export function withEvents(
  events: readonly RunnerEvent[],
  added: readonly RunnerEvent[],
): RunnerEvent[] {
  const known = new Set(events.map(keyOf));
  const all = [...events];
  for (const event of added.slice(-MAX_ADDED)) {
    const short = { ...event, detail: event.detail.slice(0, MAX_DETAIL) };
    if (known.has(keyOf(short))) continue;
    known.add(keyOf(short));
    all.push(short);
  }
  const sorted = all.toSorted((a, b) => a.at - b.at);
  const kept = new Set(
    GROUPS.flatMap(([kinds, max]) => sorted.filter(({ kind }) => kinds.includes(kind)).slice(-max)),
  );
  return sorted.filter((event) => kept.has(event));
}

const keyOf = ({ at, kind, detail }: RunnerEvent) => `${at} ${kind} ${detail}`;
