import type { ContainerClient } from "../http.ts";
import type { Run, Timing } from "../interface.ts";
import type { LargeReads } from "../large-reads.ts";
import type { Release } from "./release.ts";

/** What the runs of one OpenAI-compatible server share. */
export interface SessionParts {
  client: ContainerClient;
  gone: AbortSignal;
  timing: Timing;
  large: LargeReads;
  /** Where it says that it is well. */
  health: string;
  /** What it calls its model; undefined: it does not say, and so does not care. */
  model: string | undefined;
  /** What it is at work on, for this runner. */
  open: Set<Run>;
  release: Release;
  /** It has no /v1/responses, as a run has found out. */
  chatOnly: boolean;
}
