/** The version that is published: facts that the image does not have, and a call to paste. */

import { randomUUID } from "node:crypto";
import { select } from "@clack/prompts";
import { z } from "zod";
import { messageOf, statusOf } from "../../../runner/src/lib/error.ts";
import type { Known } from "../../domain/images/server-description.ts";
import { exampleInput } from "../../domain/schemas/example-input.ts";
import { formFields } from "../../domain/schemas/input-form.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { sleep } from "../../lib/timeout.ts";
import { type Json, pageOf } from "../../protocol/common.ts";
import { explanation } from "../../protocol/explanation.ts";
import { type Hardware, hardware as hardwareItem } from "../../protocol/hardware.ts";
import {
  type Configuration,
  type Model,
  model,
  model as modelShape,
  type Version,
  type Visibility,
  version,
} from "../../protocol/model.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import type { Access } from "../access.ts";
import { Failure, Misuse } from "../failure.ts";
import { followRun } from "../run/follow-run.ts";
import { follow } from "../service/events.ts";
import { cancelSoon, isDeployment, type Service } from "../service/service.ts";
import type { ServiceSession } from "../session.ts";
import { answered, prompt, quoted, safeText } from "../ui/output.ts";
import type { ProjectManifest } from "./project.ts";

export interface NewVersion {
  release_notes: string;
  /** A digest. */
  image: string;
  schemas?: ProjectManifest["schemas"];
  compatibilities?: ProjectManifest["compatibilities"];
  configuration?: Configuration;
  /** False: the version that runs now stays the default. */
  set_default: boolean;
}

export interface VersionOptions {
  digest: string;
  notes: string;
  manifest: ProjectManifest;
  configuration: Configuration | undefined;
  /** The facts that `--check` has read from the server. */
  described: Known;
  setDefault: boolean;
}

export function newVersion(options: VersionOptions): NewVersion {
  const { digest, notes, manifest, configuration, described, setDefault } = options;
  return {
    release_notes: notes,
    image: digest,
    ...described,
    ...(manifest.schemas && { schemas: manifest.schemas }),
    ...(manifest.compatibilities && { compatibilities: manifest.compatibilities }),
    ...(configuration && { configuration }),
    set_default: setDefault,
  };
}

/**
 * Creates it, once: what a request whose answer was lost has made is found by what it is of.
 * @param before the number of the latest version before, or 0
 */
export function createVersion(
  service: Service,
  model: string,
  before: number,
  body: NewVersion,
): Promise<Version> {
  const made = async () => {
    const { latest_version: latest } = await service.get(`/models/${model}`, modelShape);
    const isIt =
      latest?.container_image_digest === body.image && latest.release_notes === body.release_notes;
    return isIt && latest.number > before ? latest : undefined;
  };
  // Retries last long, since the image is already built and pushed.
  const options = { body, isPatient: true, made };
  return service.post(`/models/${model}/versions`, version, options);
}

interface ConfigurationOptions {
  manifest: ProjectManifest;
  /** The interface that the command line names. */
  spoken: ContainerInterface | undefined;
  /** The version's hardware; undefined for the model's own. */
  hardware: string | undefined;
  latest: Version | null;
}

/** Returns the configuration, which replaces all of the one before; undefined keeps the one before. */
export function configurationOf({
  manifest,
  spoken,
  hardware,
  latest,
}: ConfigurationOptions): Configuration | undefined {
  const own: Configuration = {
    ...manifest.configuration,
    ...(manifest.interface && { interface: manifest.interface }),
  };
  const isSaid = Object.keys(own).length > 0;
  // An image cannot have the configuration of a remote version.
  const before = latest?.configuration.remote ? {} : latest?.configuration;
  const isKept = !isSaid && before === latest?.configuration;
  if (isKept && spoken === undefined && hardware === undefined) return undefined;
  return {
    ...(isSaid ? own : before),
    ...(spoken !== undefined && { interface: spoken }),
    ...(hardware !== undefined && { hardware_identifier: hardware }),
  };
}

/**
 * `auspex run ada/story prompt='some text'`: with what it needs, or else its first input.
 * @returns undefined for one of which nobody knows yet what it takes
 */
export function exampleCall(
  model: string,
  { schemas, status, configuration }: Pick<Version, "schemas" | "status" | "configuration">,
) {
  const schema = versionSchema(schemas, "input");
  const fields = formFields(schema);
  if (status === "awaiting_first_start" && fields.length === 0)
    return configuration.interface === "vendora" ? callOf(model, [CHAT]) : undefined;
  const needed = fields.filter(({ required }) => required);
  const example = exampleInput(schema);
  const pairs = (needed.length > 0 ? needed : fields.slice(0, 1)).flatMap(({ name, kind }) => {
    const value = example[name];
    if (value === undefined) return [];
    const word = quoted(name);
    if (kind === "file") return [`${word}=@file`];
    const isText = typeof value === "string";
    return [isText ? `${word}=${quoted(value)}` : jsonPair(word, value)];
  });
  return callOf(model, pairs);
}

const jsonPair = (name: string, value: Json): string => `${name}:=${quoted(JSON.stringify(value))}`;

/** Most servers of OpenAI's API answer chats. A `prompt` would not become a message without a schema. */
const CHAT = jsonPair("messages", [{ role: "user", content: "Who are you?" }]);

const callOf = (model: string, pairs: string[]): string =>
  ["auspex run", model, ...pairs].join(" ");

/**
 * Waits until a runner has the version warm. A trial prediction is canceled once its container is ready,
 * except before a first start, whose facts the runner reports at the end of the run.
 * @param reference `owner/name:3`
 * @param hardware the class of which a runner must be online; undefined: waits until one is
 * @throws Failure with why it did not start
 */
export async function warmUp(
  session: ServiceSession,
  reference: string,
  version: Version,
  hardware: string | undefined,
): Promise<void> {
  const { service, access, display, onRetry } = session;
  const body = trialOf(reference, version);
  let id: string | undefined;
  let isReady = false;
  const absent = new AbortController();
  const ended = new AbortController();
  const signal = AbortSignal.any([session.signal, absent.signal]);
  const events = follow({ access, signal, create: { body, key: randomUUID() }, onRetry });
  try {
    const done = await followRun({
      events,
      display,
      onCreated: (own) => {
        id = own;
        if (hardware === undefined) return;
        const until = AbortSignal.any([signal, ended.signal]);
        missingRunner(service, own, until).then(
          (what) => {
            if (what === undefined) return;
            const why = `${reference} was published, but no ${hardware} runner ${what} to start it.`;
            absent.abort(new Failure(`${why}\n${startOne(access)}`));
          },
          // The stream of the same prediction meets the same error, and retries.
          () => {},
        );
      },
      onSetup: ({ phase }) => {
        ended.abort();
        if (phase !== "ready") return;
        isReady = true;
        if (version.status !== "ready") return;
        // The trial's output is not needed, so a failed cancel is only printed.
        if (id !== undefined)
          cancelSoon(access, id).catch((error: unknown) => display.say(messageOf(error)));
      },
      onOutput: async () => {},
    });
    if (isReady || done.status === "succeeded") return;
    throw new Failure(
      `${reference} was published, but failed to start: ${done.error?.message ?? done.status}\nShow its logs with auspex logs ${done.id}`,
    );
  } catch (error) {
    // A trial that nobody waits for is canceled, too.
    if (signal.aborted && id !== undefined) await cancelSoon(access, id).catch(() => {});
    throw error;
  } finally {
    ended.abort();
  }
}

const startOne = ({ url }: Access) =>
  `Start one (${url}/docs/runners) and publish again. To wait for one, add --wait; to skip the start, --no-wait.`;

/** A runner that reconnects, such as after a deploy, is away for less than two checks. */
const CHECK_MS = 1_500;

/** Asks why a prediction waits until two answers in a row say that no runner can take it. */
async function missingRunner(
  service: Service,
  id: string,
  until: AbortSignal,
): Promise<string | undefined> {
  let isMissing = false;
  while (await sleep(CHECK_MS, until)) {
    const { reason } = await service.get(`/predictions/${id}/explain`, explanation);
    const wasMissing = isMissing;
    isMissing = reason?.code === "no_runner" || reason?.code === "too_small";
    if (isMissing && wasMissing)
      return reason?.code === "no_runner" ? "is accepting work" : "has enough working GPUs";
  }
  return undefined;
}

/** Kept as long as any: of one that failed, its logs are looked at later. */
export const trialOf = (model: string, { schemas }: Pick<Version, "schemas">) => ({
  model,
  input: exampleInput(versionSchema(schemas, "input")),
  stream: true,
  start_check: true,
});

const AGAIN_MS = 500;
/** A version whose server has reported no facts stays as it is. */
const PATIENCE_MS = 5_000;

/**
 * Waits up to 5 s for the facts of a first start, which the service stores a moment after the run's end.
 * @returns the version, complete or not
 * @throws the signal's reason
 */
export async function completedVersion(
  read: () => Promise<Version>,
  signal: AbortSignal,
): Promise<Version> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await read();
    if (found.status === "ready" || Date.now() >= until) return found;
    await sleep(AGAIN_MS, signal);
    signal.throwIfAborted();
  }
}

interface NewModel {
  /** The account that the token belongs to. */
  account: string;
  /** `owner/name` */
  model: string;
  description: string | undefined;
  visibility: Visibility | undefined;
  hardware: string | undefined;
  /** Whether a user can answer questions. */
  isInteractive: boolean;
}

/** `make` creates a missing model only once its image exists. */
type ModelPlace =
  | { found: Model; make?: undefined }
  | { found?: undefined; make: () => Promise<Model> };

const CLASSES = "/hardware?page_size=50";

/** @throws ControlPlaneError, also if the token may not make the model that is not there; Misuse if nobody but its owner may, or a deployment has its name */
export async function findModel(service: Service, wanted: NewModel): Promise<ModelPlace> {
  const path = `/models/${wanted.model}`;
  const found = await service.get(path, model).catch((error: unknown) => {
    if (statusOf(error) !== 404) throw error;
  });
  if (found) return { found };
  const [owner] = wanted.model.split("/");
  if (owner !== wanted.account)
    throw new Misuse(
      `The model ${wanted.model} doesn't exist, or isn't shared with ${wanted.account}. Only ${owner} can create it. If it is your organization, run: auspex switch ${owner}, or set AUSPEX_TOKEN to one of its tokens.`,
    );
  await requireMaking(service);
  if (await isDeployment(service, wanted.model))
    throw new Misuse(
      `${wanted.model} is a deployment, and models and deployments share their names. Choose another name.`,
    );
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
    `${page.split("/models/")[1]} is ${visibility}; --visibility only applies to new models. Change it at ${page}/settings.`,
  );
}

/** Checks that the class exists before minutes are spent on building and pushing. @throws Misuse */
export async function requireHardware(service: Service, wanted: string): Promise<void> {
  const { items, next_cursor } = await service.get(CLASSES, pageOf(hardwareItem));
  const names = items.map(({ identifier }) => identifier);
  if (names.includes(wanted) || next_cursor !== null) return;
  throw new Misuse(`Unknown hardware "${wanted}". Available: ${names.join(", ")}.`);
}

/** Returns the only class, or the chosen one; undefined leaves the choice to the service. */
export async function chooseHardware(
  service: Service,
  { model, isInteractive }: Pick<NewModel, "model" | "isInteractive">,
): Promise<string | undefined> {
  const { items } = await service.get(CLASSES, pageOf(hardwareItem));
  if (items.length <= 1 || !isInteractive)
    return items.length === 1 ? items[0]?.identifier : undefined;
  const width = Math.max(...items.map(({ identifier }) => identifier.length));
  const chosen = await select({
    ...prompt,
    message: safeText(`Hardware for ${model}`),
    // Descriptions are no hints: only the selected line shows its hint.
    options: items.map((one) => ({
      value: one.identifier,
      label: safeText(`${one.identifier.padEnd(width)}  ${describe(one)}`),
    })),
  });
  return answered(chosen);
}

const describe = ({ name, gpus }: Hardware): string =>
  gpus > 0 ? `${name}, ${gpus} GPU${gpus > 1 ? "s" : ""}` : name;
