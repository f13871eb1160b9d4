/** The folder that is published: what it is built with, and what its auspex.json says. */
import { access, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import { messageOf } from "../../../runner/src/control-plane/error.ts";
import { readModelReference, slug } from "../../protocol/common.ts";
import { configuration, createVersion, visibility } from "../../protocol/model.ts";
import { containerInterface } from "../../protocol/runner.ts";
import { Misuse } from "../failure.ts";

export const MANIFEST = "auspex.json";

/** All of it is optional: what an image says of itself need not be said. What is misspelled is refused. */
const manifest = z.strictObject({
  name: slug.optional(),
  description: z.string().max(1_000).optional(),
  visibility: visibility.optional(),
  hardware: z.string().max(63).optional(),
  interface: containerInterface.optional(),
  schemas: createVersion.shape.schemas,
  compatibilities: createVersion.shape.compatibilities,
  configuration: configuration.optional(),
  /** Runners without Docker start it with this (runner/src/engines/process/model-folder.ts). */
  command: z.unknown().optional(),
});
export type ProjectManifest = z.infer<typeof manifest>;

export interface Project {
  folder: string;
  builder: "cog" | "dockerfile" | undefined;
  manifest: ProjectManifest;
}

/** @throws Misuse */
export async function readProject(path: string): Promise<Project> {
  const folder = resolve(path);
  const has = (name: string) =>
    access(join(folder, name)).then(
      () => true,
      () => false,
    );
  if (!(await has("."))) throw new Misuse(`There is no folder ${path}.`);
  const builder = (await has("cog.yaml"))
    ? "cog"
    : (await has("Dockerfile"))
      ? "dockerfile"
      : undefined;
  return { folder, builder, manifest: await readManifest(folder) };
}

async function readManifest(folder: string): Promise<ProjectManifest> {
  const text = await readFile(join(folder, MANIFEST), "utf8").catch(() => undefined);
  if (text === undefined) return {};
  const { success, data, error } = manifest.safeParse(parsed(text));
  if (success) return data;
  const faults = error.issues.map(({ path, message }) =>
    [MANIFEST, ...(path.length > 0 ? [path.join(".")] : []), message].join(": "),
  );
  throw new Misuse(faults.join("\n"));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Misuse(`${MANIFEST}: this is not JSON: ${messageOf(error)}`);
  }
}

/**
 * The model that it becomes, as `owner/name`.
 * @param given on the command line: `owner/name`, or the name alone
 */
export function modelName({ folder, manifest }: Project, given: string | undefined, owner: string) {
  const name = given ?? manifest.name ?? basename(folder).toLowerCase();
  const found = readModelReference(name.includes("/") ? name : `${owner}/${name}`);
  if (!found || found.version !== undefined || !slug.safeParse(found.name).success)
    throw new Misuse(`“${name}” is no name for a model. Give one with --model ${owner}/story.`);
  if (found.owner !== owner)
    throw new Misuse(`Only ${found.owner} can publish there: this token is ${owner}'s.`);
  return `${owner}/${found.name}`;
}
