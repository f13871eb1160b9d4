/** Data that the page of a version shows. */
import { describeImage } from "../../services/images/describe-image.ts";
import { readModel } from "../../services/models/models.ts";
import { readVersion, readVersionBefore } from "../../services/models/versions.ts";
import { findImagePlaces } from "../../services/runners/run-estimate.ts";
import type { PageContext } from "../context.ts";
import { isOwner } from "./header.tsx";
import { estimateOf } from "./run-estimate.ts";
import type { VersionPageProps } from "./version.tsx";

/** @throws ProblemError not_found */
export async function loadVersion(
  c: PageContext,
  owner: string,
  name: string,
  number: number,
): Promise<Omit<VersionPageProps, "draft">> {
  const { services, viewer, origin } = c.var;
  const [model, { version }] = await Promise.all([
    readModel(services, viewer?.caller, owner, name),
    readVersion(services, viewer?.caller, owner, name, number),
  ]);
  const namesRunners = viewer?.operator ?? false;
  const seesPlaces = viewer !== undefined && (namesRunners || isOwner(model, viewer));
  const [described, before, estimate, places] = await Promise.all([
    describeImage(services, viewer?.caller, model, version),
    readVersionBefore(services, version),
    estimateOf(c, model, version),
    seesPlaces ? findImagePlaces(services, viewer.caller, model, version) : undefined,
  ]);
  const image = { described, places: seesPlaces ? (places ?? null) : undefined, namesRunners };
  return { model, version, before, viewer, estimate, origin, image };
}
