/** What has become of a runner, for operators: the latest of it. */
import type { RUNNER_EVENT_KINDS } from "../../protocol/runner-log.ts";

export interface RunnerEvent {
  /** Unix ms. */
  at: number;
  kind: (typeof RUNNER_EVENT_KINDS)[number];
  /** A version, a GPU, a container's model; for times unix ms as text. */
  detail: string;
  /** The id of the account that did it. */
  by?: string | undefined;
}

/**
 * Of what operators do, of its processes, and of the rest, each by itself: a runner that starts again and
 * again, or whose containers do, pushes nothing else out. A runner's object stores them with all that it is told.
 */
const GROUPS: [kinds: RunnerEvent["kind"][], max: number][] = [
  [["drained", "resumed", "forgiven", "token_revoked"], 20],
  [["started", "stopping", "stopped", "lost", "silent"], 40],
  [["set_aside", "gpu_lost", "gpu_back"], 20],
  [["container_started", "container_stopped"], 40],
];
const MAX_ADDED = 100;
const MAX_DETAIL = 120;

/** One that is told twice stays one. */
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
