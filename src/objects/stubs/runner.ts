/**
 * The only way to runner objects. itty-durable's router obeys any URL and headers that reach it, so a request
 * is always made here, from a method name of ours: a client's never gets through. Arguments travel in a
 * header: they are escaped to ASCII, and bounded (`boundedSession`, `boundedReport`).
 */

import { z } from "zod";
import type { RunnerEvent } from "../../domain/runners/events.ts";
import type { Bindings } from "../../env.ts";
import {
  load,
  machine,
  type SessionRequest,
  type TelemetryRequest,
} from "../../protocol/runner.ts";
import { RUNNER_EVENT_KINDS } from "../../protocol/runner-log.ts";
import { ANSWER_MS, bounded, repeated } from "./bounded.ts";
import { inJurisdiction } from "./jurisdiction.ts";

/** The presence of a runner: what its object stores and returns. */
const presence = z.object({
  name: z.string(),
  hardware: z.array(z.string()),
  pool: z.string(),
  version: z.string(),
  engine: z.string(),
  session: z.string(),
  draining: z.boolean(),
  /** When an operator began to drain it. */
  draining_since: z.number().nullable(),
  state: z.enum(["ready", "draining", "stopped"]),
  slots: z.number(),
  running: z.array(z.string()),
  last_seen_at: z.number(),
  started_at: z.number(),
  machine,
  /** Null until the first report. */
  load: load.nullable(),
  warm: z.array(z.string()),
});

const step = z.object({
  reports: z.number(),
  running: z.number(),
  gpus: z.array(z.object({ used: z.number(), memory_used_gb: z.number() })),
});

const history = z.object({
  /** Hours of the last day, and maybe older ones, in any order. */
  hours: z.array(z.object({ hour: z.number(), steps: z.array(step.nullable()) })),
  /** Oldest first. */
  events: z.array(
    z.object({
      at: z.number(),
      kind: z.enum(RUNNER_EVENT_KINDS),
      detail: z.string(),
      by: z.string().optional(),
    }),
  ),
});

type Method =
  | "beginSession"
  | "report"
  | "removeRun"
  | "setDraining"
  | "getPresence"
  | "history"
  | "reportEvents"
  | "remove";

/** @param ms how long the object may take to answer */
export function runnerAt(env: Bindings, runnerId: string, ms = ANSWER_MS) {
  const callOnce = async (method: Method, args: unknown[]): Promise<unknown> => {
    const runner = bounded(() => inJurisdiction(env, env.RUNNER).getByName(runnerId), { ms });
    const response = await runner.fetch(`https://runner/do/call/${method}`, {
      headers: { "do-content": ascii(JSON.stringify(args)) },
    });
    // itty-durable answers with what its object has thrown.
    if (!response.ok) throw new Error(`runner object: ${method}: ${await response.text()}`);
    return response.json();
  };
  // Every call may be made twice: its arguments say how things are.
  const call = async (method: Method, ...args: unknown[]) =>
    presence.nullable().parse(await repeated(() => callOnce(method, args)));
  return {
    /** Null when another process has come after this one, or the runner was removed. */
    beginSession: (session: string, request: NewSession) =>
      call("beginSession", session, boundedSession(request)),
    report: (telemetry: TelemetryRequest) => call("report", boundedReport(telemetry)),
    removeRun: (predictionId: string) => call("removeRun", predictionId),
    setDraining: (draining: boolean, by: string | null) => call("setDraining", draining, by),
    getPresence: () => call("getPresence"),
    reportEvents: (events: RunnerEvent[]) => call("reportEvents", events),
    history: async () => history.parse(await repeated(() => callOnce("history", []))),
    /** Null when the runner was deleted. */
    remove: (since: number) => call("remove", since),
  };
}

const ascii = (json: string) =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * Bounds on the arguments for a runner's object. They travel in a header, and the headers of a request may
 * have 128 KB: a report has at most 52 KB (39 for a thousand running predictions, 10 for fifty models), a
 * session 23 KB (most of it the names of GPUs).
 */

const MAX_WARM = 50;
const MAX_GPUS = 32;
/** The most characters of a GPU's name: each may take six when it is escaped. */
const MAX_GPU_NAME = 100;

function boundedSession({ machine, ...session }: NewSession): NewSession {
  const gpus = machine.gpus
    .slice(0, MAX_GPUS)
    .map(({ name, memory_gb }) => ({ name: name.slice(0, MAX_GPU_NAME), memory_gb }));
  return { ...session, machine: { ...machine, gpus } };
}

function boundedReport({ runner_id: _, warm, load, ...report }: TelemetryRequest): Report {
  return {
    ...report,
    warm: warm.filter(isModel).slice(0, MAX_WARM),
    load: { ...load, ...(load.gpus && { gpus: load.gpus.slice(0, MAX_GPUS) }) },
  };
}

const isModel = (text: string) => /^[\w.:/@-]+$/.test(text);

export type Presence = z.infer<typeof presence>;

export type History = z.infer<typeof history>;

/** The registration of a runner, and the pool of its classes. */
export type NewSession = SessionRequest & Pick<Presence, "pool">;

export type Report = Omit<TelemetryRequest, "runner_id">;
