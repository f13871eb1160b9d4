/**
 * What a reader may have seen though the log lacks it. Events are shown when they come and stored within
 * 250 ms; a runner sends again what was not stored, unless it dies with the prediction's object.
 */
import { z } from "zod";

export interface Seen {
  id: number;
  event: string;
  data: unknown;
  /** When it came, ms. */
  at: number;
}

export interface Sight {
  seen: Seen[];
  /** When the stream broke off, and when it could not be taken up again, ms. */
  breaks: number[];
  log: Pick<Seen, "id">[];
}

const STORED_MS = 250;
/** A break takes longer to arrive than the events before it: a connection ends on every machine between. */
const NOTICED_MS = 100;

/** What the prediction says itself is stored before it is shown. */
const OWN = ["status", "error", "done"];

const change = z.object({ lost: z.number().optional(), attempt: z.number().optional() });

/** Only the last events of an attempt that was lost, if the prediction was tried again. */
export function lostEvents({ seen, breaks, log }: Sight): Seen[] {
  const stored = new Set(log.map(({ id }) => id));
  const isMissing = ({ id, event }: Seen) => !stored.has(id) && !OWN.includes(event);
  return seen.flatMap((end, n) => {
    if (changeOf(end).lost === undefined || !isTriedAgain(seen.slice(n))) return [];
    const before = seen.slice(0, n);
    const tail = before.slice(before.findLastIndex((event) => !isMissing(event)) + 1);
    const last = tail.at(-1);
    const broke = last && breaks.find((at) => at >= last.at);
    if (broke === undefined) return [];
    return tail.filter(({ at }) => at >= broke - STORED_MS - NOTICED_MS);
  });
}

const isTriedAgain = (events: Seen[]) =>
  events.some((event) => changeOf(event).attempt !== undefined);

const changeOf = ({ event, data }: Seen): z.infer<typeof change> =>
  event === "status" ? (change.safeParse(data).data ?? {}) : {};
