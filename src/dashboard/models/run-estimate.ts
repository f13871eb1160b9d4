/** Expectations of a run in the header of a model, which each of its pages has. */
import { readEstimate, type VersionEstimate } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { PageContext } from "../context.ts";
import { isOwner } from "./header.tsx";

/**
 * @param version that the page is of; its latest where it is of none
 * @returns undefined for a model without any
 */
export async function estimateOf(
  { var: { services, viewer } }: PageContext,
  model: DetailedModelRow,
  version: VersionRow | null = model.latest_version,
): Promise<VersionEstimate | undefined> {
  if (!version) return undefined;
  const seesWait = (viewer?.operator ?? false) || isOwner(model, viewer);
  return readEstimate(services, viewer?.caller, { model, version, seesWait });
}
