/** Notes on an example that is gone, or that is not all as its link says. */
import type { Example } from "../../../protocol/example.ts";
import { goneVersions, readExample } from "../../../services/models/examples.ts";
import type { Services } from "../../../services/services.ts";
import type { VersionRow } from "../../../storage/models/versions.ts";

export interface ChosenExample {
  example: Example | undefined;
  /** Whether its version is gone. */
  isVersionGone: boolean;
  note: string | undefined;
}

/** @param id as the address names it @param version whose form is shown */
export async function chosenExample(
  services: Services,
  { model_id, number }: Pick<VersionRow, "model_id" | "number">,
  id: string | undefined,
  origin: string,
): Promise<ChosenExample> {
  if (id === undefined) return { example: undefined, isVersionGone: false, note: undefined };
  const example = await readExample(services, model_id, id, origin);
  if (!example) return { example, isVersionGone: false, note: GONE };
  const made = example.version_number;
  const gone = made === number ? new Set() : await goneVersions(services, model_id, [example]);
  const isVersionGone = gone.has(made);
  const note = isVersionGone
    ? `This example was made with version ${made}, which was deleted. This page is for version ${number}.`
    : undefined;
  return { example, isVersionGone, note };
}

const GONE = "This example is no longer here.";
