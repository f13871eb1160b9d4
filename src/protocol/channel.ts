/**
 * The channel: the WebSocket between a runner and the prediction it works on.
 *
 * 1. The runner connects to GET /v1/runner/channel with its runner token and the job's lease.
 * 2. The prediction answers `welcome` with the sequence number of the last frame it has kept.
 * 3. The runner sends `events` frames, numbered from 1 within the attempt, at most one
 *    unacknowledged at a time; each is acknowledged once it is durable.
 * 4. The frame with `finish` is the last one. After its `ack` the runner closes with 1000.
 * 5. After a break the runner connects again and resends what is above `welcome.seq`; what the
 *    prediction already has, it drops and acknowledges again.
 * 6. `cancel` asks the runner to stop and to finish as whatever the run became: the prediction is
 *    `canceled` all the same. `fenced` says that the attempt is no longer this runner's: stop, report nothing.
 *
 * The text `ping` is answered `pong` by the platform without waking the prediction; pings are
 * what keeps the lease.
 */
import { z } from "zod";
import { json } from "./common.ts";
import { reportedEvents } from "./event.ts";

/** Of a frame: what a body may have, and the levels that a value of a container is wrapped in. */
export const FRAME_BOUNDS = { depth: 136, values: 500_000 };

/**
 * Of what containers answer: a batch of embeddings has a thousand times a thousand numbers. It is
 * no more than JSON.parse does in half a second.
 */
export const OUTPUT_BOUNDS = { depth: 128, values: 2_000_000 };

export const PING = "ping";
export const PONG = "pong";

/** Close codes beside the standard ones. */
export const CLOSE = {
  /** The frame was not understood: text says why. Connect again and resend. */
  badFrame: 4400,
  /** The attempt is not this runner's any more. Final. */
  fenced: 4409,
  /** Another connection of the same attempt took over. */
  replaced: 4410,
} as const;

/** 10 TB: what is said to be larger is a mistake, or a lie. */
const MAX_IMAGE_BYTES = 1e13;

const seconds = z.number().nonnegative();

export const runError = z.object({
  /** `external`: the model or its container. `internal`: the runner or the service. */
  source: z.enum(["internal", "external"]),
  message: z.string().max(10_000),
  detail: json.optional(),
});
export type RunError = z.infer<typeof runError>;

export const finish = z.object({
  status: z.enum(["succeeded", "failed", "canceled"]),
  /**
   * How the `output` events make up the output: `items`, a list with one event an item;
   * `value`, the last event is the whole; `none`, there is no output.
   */
  output: z.enum(["items", "value", "none"]),
  error: runError.optional(),
  /** From the claim to the container being ready; absent when it never was. */
  setup_seconds: seconds.optional(),
  /** From the request to the container to its last word; absent when it never ran. */
  execution_seconds: seconds.optional(),
  /** Of the image, unpacked, as the engine has it: where the job has asked for it. */
  image_bytes: z.number().int().min(1).max(MAX_IMAGE_BYTES).optional(),
});
export type Finish = z.infer<typeof finish>;

export const eventsFrame = z.object({
  type: z.literal("events"),
  seq: z.number().int().min(1),
  events: reportedEvents,
  finish: finish.optional(),
});
export type EventsFrame = z.infer<typeof eventsFrame>;

/** The runner hands the job back untouched (it is shutting down, or has no room after all). */
export const releaseFrame = z.object({
  type: z.literal("release"),
  reason: z.string().max(1_000),
});

export const upFrame = z.discriminatedUnion("type", [eventsFrame, releaseFrame]);
export type UpFrame = z.infer<typeof upFrame>;

/** Shows that the attempt was heard: goes into the runner's next claim. Not in each frame. */
const receipt = z.string().max(64).optional();

export const downFrame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("welcome"), seq: z.number().int().min(0), receipt }),
  z.object({ type: z.literal("ack"), seq: z.number().int().min(0), receipt }),
  z.object({ type: z.literal("cancel"), reason: z.string() }),
  z.object({ type: z.literal("fenced"), reason: z.string(), receipt }),
]);
export type DownFrame = z.infer<typeof downFrame>;
