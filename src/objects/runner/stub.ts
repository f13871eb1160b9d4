/**
 * The only door to runner objects. itty-durable's router obeys whatever URL and headers reach it,
 * so a request is always made here, from a method name of ours: a client's never gets through.
 * Arguments travel in a header: they are escaped to ASCII, and bounded (bounds.ts).
 */
import { z } from "zod";
import type { RunnerEvent } from "../../domain/runners/events.ts";
import type { Bindings } from "../../env.ts";
import { load, machine, type TelemetryRequest } from "../../protocol/runner.ts";
import { RUNNER_EVENT_KINDS } from "../../protocol/runner-log.ts";
import { ANSWER_MS, bounded } from "../bounded.ts";
import { inJurisdiction } from "../jurisdiction.ts";
import { repeated } from "../repeated.ts";
import { boundedReport, boundedSession } from "./bounds.ts";
import type { History, NewSession, Presence } from "./rpc-types.ts";

const presence: z.ZodType<Presence | null> = z
  .object({
    name: z.string(),
    hardware: z.array(z.string()),
    pool: z.string(),
    version: z.string(),
    engine: z.string(),
    session: z.string(),
    draining: z.boolean(),
    state: z.enum(["ready", "draining", "stopped"]),
    slots: z.number(),
    running: z.array(z.string()),
    last_seen_at: z.number(),
    started_at: z.number(),
    machine,
    load: load.nullable(),
    warm: z.array(z.string()),
  })
  .nullable();

const step = z.object({
  reports: z.number(),
  running: z.number(),
  gpus: z.array(z.object({ used: z.number(), memory_used_gb: z.number() })),
});
const history: z.ZodType<History> = z.object({
  hours: z.array(z.object({ hour: z.number(), steps: z.array(step.nullable()) })),
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
  | "tellEvents"
  | "remove";

/** @param ms how long it may take to answer */
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
  // Each may be made twice: it is told how things are.
  const call = async (method: Method, ...args: unknown[]) =>
    presence.parse(await repeated(() => callOnce(method, args)));
  return {
    /** Null when another process has come after it, or it was removed. */
    beginSession: (session: string, request: NewSession) =>
      call("beginSession", session, boundedSession(request)),
    report: (telemetry: TelemetryRequest) => call("report", boundedReport(telemetry)),
    removeRun: (predictionId: string) => call("removeRun", predictionId),
    setDraining: (draining: boolean, by: string | null) => call("setDraining", draining, by),
    getPresence: () => call("getPresence"),
    tellEvents: (events: RunnerEvent[]) => call("tellEvents", events),
    history: async () => history.parse(await repeated(() => callOnce("history", []))),
    /** Null when it was deleted. */
    remove: (since: number) => call("remove", since),
  };
}

const ascii = (json: string) =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
