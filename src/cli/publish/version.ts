/** The version that is published: what the image does not say of itself, and a call to paste. */
import type { Known } from "../../domain/images/server-description.ts";
import { exampleInput } from "../../domain/schemas/example-input.ts";
import { formFields } from "../../domain/schemas/input-form.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Json } from "../../protocol/common.ts";
import {
  type Configuration,
  model as modelShape,
  type Version,
  version,
} from "../../protocol/model.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import type { Service } from "../service/service.ts";
import { quoted } from "../ui/shell.ts";
import type { ProjectManifest } from "./project.ts";

export interface NewVersion {
  release_notes: string;
  /** A digest. */
  image: string;
  schemas?: ProjectManifest["schemas"];
  compatibilities?: ProjectManifest["compatibilities"];
  configuration?: Configuration;
}

export interface VersionOptions {
  digest: string;
  notes: string;
  manifest: ProjectManifest;
  configuration: Configuration | undefined;
  /** What its server has told on this machine. */
  told: Known;
}

export function newVersion(options: VersionOptions): NewVersion {
  const { digest, notes, manifest, configuration, told } = options;
  return {
    release_notes: notes,
    image: digest,
    ...told,
    ...(manifest.schemas && { schemas: manifest.schemas }),
    ...(manifest.compatibilities && { compatibilities: manifest.compatibilities }),
    ...(configuration && { configuration }),
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
  // Much was done before: it is worth some patience.
  const options = { body, isPatient: true, made };
  return service.post(`/models/${model}/versions`, version, options);
}

interface ConfigurationOptions {
  manifest: ProjectManifest;
  /** What its container speaks, if the command line says it. */
  spoken: ContainerInterface | undefined;
  /** If it is not the model's own. */
  hardware: string | undefined;
  latest: Version | null;
}

/** Undefined leaves it as it was in the version before: one that is sent replaces all of it. */
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
  if (!isSaid && spoken === undefined && hardware === undefined) return undefined;
  return {
    ...(isSaid ? own : latest?.configuration),
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

/** What most servers of OpenAI's API answer. Without a schema, a text would not become a message. */
const CHAT = jsonPair("messages", [{ role: "user", content: "Who are you?" }]);

const callOf = (model: string, pairs: string[]): string =>
  ["auspex run", model, ...pairs].join(" ");
