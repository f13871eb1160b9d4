/** The model that a version is published to: found, or made. */
import { isCancel, select } from "@clack/prompts";
import { z } from "zod";
import { statusOf } from "../../../runner/src/lib/error.ts";
import { pageOf } from "../../protocol/common.ts";
import { type Hardware, hardware as hardwareItem } from "../../protocol/hardware.ts";
import { type Model, model, type Visibility } from "../../protocol/model.ts";
import { Interrupted, Misuse } from "../failure.ts";
import type { Service } from "../service/service.ts";
import { safeText } from "../ui/output.ts";

export interface NewModel {
  /** `owner/name` */
  model: string;
  description: string | undefined;
  visibility: Visibility | undefined;
  hardware: string | undefined;
  /** Whether a user can answer questions. */
  isInteractive: boolean;
}

/** `make` creates a missing model only once its image exists. */
export type ModelPlace =
  | { found: Model; make?: undefined }
  | { found?: undefined; make: () => Promise<Model> };

const CLASSES = "/hardware?page_size=50";

/** @throws ControlPlaneError, also if the token may not make the model that is not there */
export async function findModel(service: Service, wanted: NewModel): Promise<ModelPlace> {
  const path = `/models/${wanted.model}`;
  const found = await service.get(path, model).catch((error: unknown) => {
    if (statusOf(error) !== 404) throw error;
  });
  if (found) return { found };
  await requireMaking(service);
  const hardware_identifier = wanted.hardware ?? (await chooseHardware(service, wanted));
  const [, name] = wanted.model.split("/");
  const { description, visibility } = wanted;
  const body = { name, description, visibility, hardware_identifier };
  const make = () =>
    service.post("/models", model, { body }).catch(async (error: unknown) => {
      // A 409 means that another request has created the model, perhaps one whose answer was lost.
      if (statusOf(error) === 409) return service.get(path, model);
      throw error;
    });
  return { make };
}

/** A body without a name makes nothing: it is refused as such once the token may make models. */
const requireMaking = (service: Service) =>
  service.post("/models", z.unknown(), { body: {} }).catch((error: unknown) => {
    if (statusOf(error) !== 422) throw error;
  });

/** Publishing does not change who sees a model that is there. @throws Misuse */
export function requireVisibility({ visibility }: Model, wanted: Visibility, page: string): void {
  if (visibility === wanted) return;
  throw new Misuse(
    `The model is ${visibility}, and --visibility is for a new model. Leave it out, and change who sees this one at ${page}/settings.`,
  );
}

/** Checks that the class exists before minutes are spent on building and pushing. @throws Misuse */
export async function requireHardware(service: Service, wanted: string): Promise<void> {
  const { items, next_cursor } = await service.get(CLASSES, pageOf(hardwareItem));
  const names = items.map(({ identifier }) => identifier);
  if (names.includes(wanted) || next_cursor !== null) return;
  throw new Misuse(
    `There is no class of hardware “${wanted}” here: ${names.join(", ")}. Operators make them under /fleet/hardware.`,
  );
}

/** Returns the only class, or the chosen one; undefined leaves the choice to the service. */
async function chooseHardware(
  service: Service,
  { model, isInteractive }: NewModel,
): Promise<string | undefined> {
  const { items } = await service.get(CLASSES, pageOf(hardwareItem));
  if (items.length <= 1 || !isInteractive)
    return items.length === 1 ? items[0]?.identifier : undefined;
  const width = Math.max(...items.map(({ identifier }) => identifier.length));
  const chosen = await select({
    message: safeText(`Hardware for ${model}`),
    // Descriptions are no hints: only the selected line shows its hint.
    options: items.map((one) => ({
      value: one.identifier,
      label: safeText(`${one.identifier.padEnd(width)}  ${describe(one)}`),
    })),
    output: process.stderr,
  });
  if (isCancel(chosen)) throw new Interrupted("SIGINT");
  return chosen;
}

const describe = ({ name, gpus }: Hardware): string =>
  gpus > 0 ? `${name}, ${gpus} GPU${gpus > 1 ? "s" : ""}` : name;
