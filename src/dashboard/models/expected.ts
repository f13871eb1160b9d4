/** Expectations of a run in the header of a model, which each of its pages has. */
import { type Expected, readExpected } from "../../services/runners/serving.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { PageContext } from "../context.ts";
import { isOwner } from "./header.tsx";

/**
 * @param version that the page is of; its latest where it is of none
 * @returns undefined for a model without any
 */
export async function expectedOf(
  { var: { services, viewer } }: PageContext,
  model: DetailedModelRow,
  version: VersionRow | null = model.latest_version,
): Promise<Expected | undefined> {
  if (!version) return undefined;
  const seesWait = (viewer?.operator ?? false) || isOwner(model, viewer);
  return readExpected(services, viewer?.caller, { model, version, seesWait });
}
