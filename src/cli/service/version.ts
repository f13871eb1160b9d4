/** Versions of models. */
import { model, type Version, version } from "../../protocol/model.ts";
import { Failure } from "../failure.ts";
import type { ModelReference } from "../options.ts";
import type { Service } from "./service.ts";

/** The one that is named, or the latest. */
export async function readVersion(service: Service, reference: ModelReference): Promise<Version> {
  const path = `/models/${reference.model}`;
  if (reference.version !== undefined)
    return service.get(`${path}/versions/${reference.version}`, version);
  const { latest_version } = await service.get(path, model);
  if (latest_version) return latest_version;
  throw new Failure(
    `${reference.model} has no version yet. Its owner publishes one: auspex publish`,
  );
}
