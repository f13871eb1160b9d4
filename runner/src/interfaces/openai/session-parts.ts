import type { OpenAiCall } from "../../../../src/protocol/runner.ts";
import type { ContainerClient } from "../container-client.ts";
import type { Run, Timing } from "../interface.ts";
import type { LargeReads } from "../large-reads.ts";
import type { ReleaseWatch } from "./release.ts";

/** The parts that the runs of one OpenAI-compatible server share. */
export interface SessionParts {
  client: ContainerClient;
  /** Aborted when the container has ended. */
  ended: AbortSignal;
  timing: Timing;
  large: LargeReads;
  /** The path of the health check. */
  health: string;
  /** The server's name for its model; undefined if it lists none and accepts any. */
  model: string | undefined;
  /** The runs that this runner has open in the server. */
  openRuns: Set<Run>;
  release: ReleaseWatch;
  /** The calls that the server does not have, as runs have found. */
  missing: Set<OpenAiCall>;
  /** The fields that the server's own responses have, once a call has asked for them. */
  responseFields?: Promise<Set<string> | undefined>;
}
