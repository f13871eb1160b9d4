/**
 * What two processes of a runner say to each other while one is updated, each a line of JSON. The new one
 * says `hello`, and hears all the time what the old one holds. Once it has `registered`, the old one
 * hands it container after container, each when it is idle.
 */
import { z } from "zod";
import { egress } from "../../../src/protocol/egress.ts";
import { containerInterface, job, jobHardware } from "../../../src/protocol/runner.ts";
import { containerState } from "../../../src/protocol/runner-state.ts";

/**
 * Increased by changes of these messages, and of what containers may do: what an older process has
 * started under other rules is not taken over.
 */
export const SUCCESSION_PROTOCOL = 1;

const port = z.int().min(1).max(65_535);

const held = z.object({
  state: containerState,
  hardware: jobHardware,
  /** Ids of its GPUs. */
  gpus: z.array(z.string()),
  /** Its engine's, unless it is about to be started. */
  id: z.string().optional(),
});
/** A container of the process before. */
export type HeldContainer = z.infer<typeof held>;

export const handle = z.object({ id: z.string(), address: z.url() });
/** How another process finds a container. */
export type ContainerHandle = z.infer<typeof handle>;

export const handedContainer = z.object({
  /** Its holder's, as in its state. */
  name: z.string(),
  key: z.string(),
  model: job.shape.model,
  image: job.shape.image,
  keys: job.shape.keys,
  interface: containerInterface,
  hardware: jobHardware,
  egress,
  max_concurrency: z.int().positive(),
  handle,
  /** By which it authenticates to the runner. */
  token: z.string(),
  /** Where it uploads files to, and its proxy; they lead to the old process until it ends. */
  upload_url: z.url(),
  proxy_url: z.url().optional(),
  /** Where its weights are put together. */
  weights_folder: z.string().optional(),
  image_bytes: z.number(),
  /** How long it is kept without a run. */
  idle_ms: z.number(),
  has_run: z.boolean(),
});
export type HandedContainer = z.infer<typeof handedContainer>;

export const toPredecessor = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("hello"),
    protocol: z.int(),
    /** What both must have been started with alike. */
    terms: z.string(),
  }),
  /** Where its containers call it. The old one must not take a rule for that from the firewall. */
  z.object({ kind: z.literal("listening"), port }),
  /** The control plane gives the jobs to the new process from now on. */
  z.object({ kind: z.literal("registered") }),
  z.object({ kind: z.literal("taken"), name: z.string() }),
]);
export type ToPredecessor = z.infer<typeof toPredecessor>;

export const predecessorState = z.object({
  process: z.string(),
  /** Where its containers call it. */
  ports: z.array(port),
  /** Ids of predictions. */
  running: z.array(z.string()),
  containers: z.array(held),
  /** Ids of those that it has started and handed on: they are not its own any more. */
  handed: z.array(z.string()),
});
/** What the process before has. */
export type PredecessorState = z.infer<typeof predecessorState>;

export const toSuccessor = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("refused"), reason: z.string() }),
  z.object({ kind: z.literal("state"), state: predecessorState }),
  z.object({ kind: z.literal("let_through") }),
  z.object({ kind: z.literal("container"), container: handedContainer }),
  /** Its callback server has closed. */
  z.object({ kind: z.literal("released") }),
]);
export type ToSuccessor = z.infer<typeof toSuccessor>;
