/** Attempts that report as much as they may, and more. */
import { expect } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { newWorld } from "./world.ts";

export const TOO_MUCH = {
  status: "failed",
  error: { source: "internal", message: "The runner sent more than a prediction may have." },
};

export const NOTHING: ReportedEvent = { event: "output", data: "" };

export const many = (count: number, event: ReportedEvent) =>
  Array<ReportedEvent>(count).fill(event);

export type FloodedAttempt = Awaited<ReturnType<typeof floodedAttempt>>;

export async function floodedAttempt() {
  const world = await newWorld();
  const run = await world.begun();
  /** The number of the attempt's last frame: the first one reported that the container is ready. */
  let seq = 1;

  /** Returns whether the object kept a frame; a frame that exceeds a bound ends the attempt. */
  async function isKept(events: ReportedEvent[]): Promise<boolean> {
    seq += 1;
    const reply = await run.channel.exchange({ type: "events", seq, events });
    if (reply.type !== "ack") expect(reply.type).toBe("fenced");
    return reply.type === "ack";
  }

  /** Sends the same frame until it is refused, `times` times at most. @returns how many were kept */
  async function flood(events: ReportedEvent[], times: number): Promise<number> {
    for (let kept = 0; kept < times; kept++) if (!(await isKept(events))) return kept;
    return times;
  }

  const read = () => world.client.get(run.id);
  const end = (output: "items") =>
    run.channel.exchange({
      type: "events",
      seq: seq + 1,
      events: [],
      finish: { status: "succeeded", output },
    });
  return { run, isKept, flood, read, end };
}
