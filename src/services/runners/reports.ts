/** The reports of short runs: each goes to its prediction, and has a reply of its own. */
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { ReportReply, ReportsRequest, ReportsResponse } from "../../protocol/channel.ts";
import type { RunnerCaller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { leasedPrediction } from "./runners.ts";

/**
 * Passes each report to its prediction. A report that cannot be taken, or not soon, does not hold up the
 * others.
 */
export async function takeReports(
  services: Services,
  { token_id, token_known_at }: RunnerCaller,
  { reports }: ReportsRequest,
): Promise<ReportsResponse> {
  const replies = reports.map(({ lease, frame }) =>
    takeReport(services, { lease, token_id, token_known_at }, frame),
  );
  return { replies: await Promise.all(replies) };
}

async function takeReport(
  { env }: Services,
  holder: LeaseHolder,
  frame: string,
): Promise<ReportReply> {
  try {
    const prediction = leasedPrediction(env, holder);
    const reporting = async (): Promise<ReportReply> => prediction.report(holder, frame);
    const reply = await withTimeout(reporting(), "prediction");
    return reply ?? refused("The prediction does not reply.");
  } catch (error) {
    if (error instanceof ProblemError) return refused(error.message);
    throw error;
  }
}

const refused = (reason: string): ReportReply => ({ type: "refused", reason });
