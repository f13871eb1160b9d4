/**
 * The channel: the WebSocket between a runner and the prediction it works on.
 *
 * 1. The runner connects to GET /v1/runner/channel with its runner token and the job's lease.
 * 2. The prediction replies `welcome` with the sequence number of the last frame it has stored.
 * 3. The runner sends `events` frames, numbered from 1 within the attempt, at most WINDOW_BYTES of
 *    them unacknowledged. The prediction shows them to readers as they come, and acknowledges them
 *    once they are durable: within 250 ms, many at a time. `flush_ms` and `flush` say how much to gather.
 * 4. The frame with `finish` is the last one. After its `ack` the runner closes with 1000.
 * 5. After a disconnect the runner connects again and resends the frames above `welcome.seq`. The
 *    prediction drops frames it already has. Frames of a prediction that was restarted in between
 *    get the event ids that they had.
 * 6. `cancel` asks the runner to stop and to finish with whatever the run became; the prediction is
 *    `canceled` in any case. `fenced` means that the attempt no longer belongs to this runner: stop, and
 *    report nothing.
 *
 * The platform answers the text `ping` with `pong` without waking the prediction. Pings keep the
 * lease alive.
 */
import { z } from "zod";
import { json } from "./common.ts";
import { reportedEvents } from "./event.ts";
import { serverDescription } from "./runner.ts";

/** Limits of a frame: those of a body, plus the levels that a frame wraps around a container's value. */
export const FRAME_BOUNDS = { depth: 136, values: 500_000 };

/** Limits of a response: 1,000 embeddings of 1,000 numbers, which JSON.parse takes half a second for. */
export const OUTPUT_BOUNDS = { depth: 128, values: 2_000_000 };

export const PING = "ping";
export const PONG = "pong";

/** Close codes in addition to the standard ones. */
export const CLOSE = {
  /** The frame is invalid; the reason says why. Connect again and resend. */
  badFrame: 4400,
  /** The attempt no longer belongs to this runner. Final. */
  fenced: 4409,
  /** Another connection of the same attempt took over. */
  replaced: 4410,
} as const;

/** 10 TB: larger reports are errors or lies. */
const MAX_IMAGE_BYTES = 1e13;

const seconds = z.number().nonnegative();

export const runError = z.object({
  /** `external`: the model or its container. `internal`: the runner or the service. */
  source: z.enum(["internal", "external"]),
  message: z.string().max(10_000),
  detail: json.optional(),
});
export type RunError = z.infer<typeof runError>;

/** The time of a run that its account pays for, as its runner measures it. */
export const billable = z.object({
  /** Time that the run was in the container, each moment divided by the number of runs in it. */
  run_seconds: seconds,
  /** Time that the container took to start, if this run has caused the start; else 0. */
  setup_seconds: seconds,
});
export type Billable = z.infer<typeof billable>;

export const finish = z.object({
  status: z.enum(["succeeded", "failed", "canceled"]),
  /**
   * How the `output` events form the output: `items` is a list with one item per event, `value` means
   * that the last event is the whole output, `none` means no output.
   */
  output: z.enum(["items", "value", "none"]),
  error: runError.optional(),
  /** Time from the claim until the container was ready; absent if it never was. */
  setup_seconds: seconds.optional(),
  /** Time from the request to the container to the end of its response; absent if the model never ran. */
  execution_seconds: seconds.optional(),
  /** The billable time; absent from runners that do not measure it. */
  billable: billable.optional(),
  /** Size of the unpacked image, if the job asked for it (`measure`). */
  image_bytes: z.number().int().min(1).max(MAX_IMAGE_BYTES).optional(),
  /** The description that the container's server gives of itself, if the job asked for it (`describe`). */
  description: serverDescription.optional().catch(undefined),
});
export type Finish = z.infer<typeof finish>;

export const eventsFrame = z.object({
  type: z.literal("events"),
  seq: z.number().int().min(1),
  events: reportedEvents,
  finish: finish.optional(),
});
export type EventsFrame = z.infer<typeof eventsFrame>;

/** The runner returns the job unstarted: it shuts down, has no room, or cannot start containers. */
export const releaseFrame = z.object({
  type: z.literal("release"),
  reason: z.string().max(1_000),
  /** The machine failed the start, such as by a full disk. `reason` says how, for callers to read. */
  start_failed: z.literal(true).optional(),
});
export type ReleaseFrame = z.infer<typeof releaseFrame>;

export const upFrame = z.discriminatedUnion("type", [eventsFrame, releaseFrame]);
export type UpFrame = z.infer<typeof upFrame>;

/** Proof that the runner's report arrived, for its next claim. Some frames have none. */
const receipt = z.string().max(64).optional();

/** The shortest time between two frames, ms; shorter while readers watch. */
const flush_ms = z.number().nonnegative();

/** Bytes of frames that may be unacknowledged; a larger one is sent alone. */
export const WINDOW_BYTES = 512 * 1024;

const ackFrame = z.object({
  type: z.literal("ack"),
  seq: z.number().int().min(0),
  flush_ms: flush_ms.optional(),
  receipt,
});

const fencedFrame = z.object({ type: z.literal("fenced"), reason: z.string(), receipt });

export const downFrame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("welcome"), seq: z.number().int().min(0), flush_ms, receipt }),
  ackFrame,
  z.object({ type: z.literal("flush"), flush_ms }),
  z.object({ type: z.literal("cancel"), reason: z.string() }),
  fencedFrame,
]);
export type DownFrame = z.infer<typeof downFrame>;

export const MAX_REPORTS = 32;

/** The body of POST /v1/runner/reports: runs that ended before their channel opened, with one frame. */
export const reportsRequest = z.object({
  reports: z
    .array(
      z.object({
        lease: z.string(),
        /** JSON text: its outputs are stored as the runner wrote them. */
        frame: z.string(),
      }),
    )
    .min(1)
    .max(MAX_REPORTS),
});
export type ReportsRequest = z.infer<typeof reportsRequest>;

/** `refused`: open the channel, and send the frame again. */
export const reportReply = z.discriminatedUnion("type", [
  ackFrame,
  fencedFrame,
  z.object({ type: z.literal("refused"), reason: z.string(), receipt }),
]);
export type ReportReply = z.infer<typeof reportReply>;

export const reportsResponse = z.object({ replies: z.array(reportReply) });
export type ReportsResponse = z.infer<typeof reportsResponse>;
