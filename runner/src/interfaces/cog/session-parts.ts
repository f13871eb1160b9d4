import type { ContainerClient } from "../http.ts";
import type { Timing } from "../interface.ts";
import type { ServerFailure } from "../vendora/error.ts";
import type { Description } from "./description.ts";
import type { CogWebhooks } from "./webhooks.ts";

/** What the runs of one Cog container share. */
export interface SessionParts extends Description {
  client: ContainerClient;
  receiver: CogWebhooks;
  timing: Timing;
  /** A refusal in the words of the caller, who has asked for something else. */
  asAsked?: (refusal: ServerFailure) => ServerFailure;
}
