import type { ContainerClient } from "../container-client.ts";
import type { Timing } from "../interface.ts";
import type { ServerFailure } from "../openai/error.ts";
import type { Description } from "./description.ts";
import type { CogWebhooks } from "./webhooks.ts";

/** The parts that the runs of one Cog container share. */
export interface SessionParts extends Description {
  client: ContainerClient;
  webhooks: CogWebhooks;
  timing: Timing;
  /** Rewords a refusal for a caller whose request was translated. */
  inCallersTerms?: (refusal: ServerFailure) => ServerFailure;
}
