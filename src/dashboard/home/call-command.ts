/** The command that calls a model over HTTP: it makes a prediction, by which the last of the first steps ticks. */
import { exampleInput } from "../../domain/schemas/example-input.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { ProblemError } from "../../errors.ts";
import { readModel } from "../../services/models/models.ts";
import type { PageContext, Viewer } from "../context.ts";
import { BODIES } from "../playground/code/bodies.ts";
import { shellSample } from "../playground/code/shell.ts";

/**
 * @param path `owner/name`; undefined: of none
 * @returns undefined for a model that has no version to call, or is not seen any more
 */
export async function callCommand(
  c: PageContext,
  { caller }: Viewer,
  path: string | undefined,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const { services, origin } = c.var;
  const [owner = "", name = ""] = path.split("/");
  const model = await readModel(services, caller, owner, name).catch((error) => {
    if (error instanceof ProblemError && error.code === "not_found") return undefined;
    throw error;
  });
  const version = model?.latest_version;
  if (!version) return undefined;
  const input = exampleInput(versionSchema(version.schemas, "input"));
  return shellSample("predictions", origin, BODIES.predictions({ origin, reference: path, input }));
}
