/** The folder that is published: how it is built, and its auspex.json. */
import { access, readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { readModelReference, slug } from "../../protocol/common.ts";
import { configuration, createVersion, visibility } from "../../protocol/model.ts";
import { writtenInterface } from "../../protocol/runner.ts";
import { Failure, Misuse } from "../failure.ts";
import { ArchiveFile } from "../image/archive-file.ts";
import { answers, Engine, watched } from "../image/engine.ts";
import type { ImageSource } from "../image/push-image.ts";
import type { Display } from "../ui/display.ts";

export const MANIFEST = "auspex.json";

/** All of it is optional: what an image says of itself need not be said. What is misspelled is refused. */
const manifest = z.strictObject({
  name: slug.optional(),
  description: z.string().max(1_000).optional(),
  visibility: visibility.optional(),
  hardware: z.string().max(63).optional(),
  interface: writtenInterface.optional(),
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
  if (!(await has("."))) throw new Misuse(`Folder not found: ${path}`);
  const builder = (await has("cog.yaml"))
    ? "cog"
    : (await has("Dockerfile"))
      ? "dockerfile"
      : undefined;
  return { folder, builder, manifest: await readManifest(folder) };
}

/** The settings that model cards of Hugging Face begin with. */
const FRONT_MATTER = /^---\r?\n.*?\n---\r?\n/s;

/** Returns the folder's README. Undefined: it has none, or an empty one. */
export async function readReadme(folder: string): Promise<string | undefined> {
  const name = (await readdir(folder)).find((one) => one.toLowerCase() === "readme.md");
  const text = name === undefined ? "" : await readFile(join(folder, name), "utf8");
  return text.replace(FRONT_MATTER, "").trim() || undefined;
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
    throw new Misuse(`${MANIFEST}: invalid JSON: ${messageOf(error)}`);
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
    throw new Misuse(`Invalid model name "${name}". Choose another with --model ${owner}/story.`);
  return `${found.owner}/${found.name}`;
}

export interface Source {
  project: Project;
  /** The path of an archive of `docker save` or of an OCI layout. */
  archive: string | undefined;
  /** The name of an existing image, in the engine or in the archive. */
  image: string | undefined;
}

export interface BuildOptions extends Source {
  /** Undefined for an archive. */
  engine: Engine | undefined;
  /** The tag of an image that is built. */
  tag: string;
  display: Display;
  signal: AbortSignal;
}

export interface BuiltImage {
  source: ImageSource;
  /** Whether it was built from the folder. */
  isOwn: boolean;
  /** The engine that has the image and can start it. */
  local?: { engine: Engine; image: string };
}

/** Finds the engine and the programs for the image, before anything is created. @throws Failure */
export async function findEngine(
  { project, image, archive }: Source,
  name: string | undefined,
  signal: AbortSignal,
): Promise<Engine | undefined> {
  if (archive !== undefined) return undefined;
  if (image === undefined && project.builder === undefined)
    throw new Misuse(
      `No cog.yaml or Dockerfile in ${project.folder}. Create one with auspex init, or publish an existing image with --image or --archive.`,
    );
  if (image !== undefined || project.builder !== "cog") return Engine.find(name, signal);
  // Cog builds with Docker.
  const engine = await Engine.find("docker", signal);
  if (await answers(["cog", "--version"], signal)) return engine;
  throw new Failure(
    "Cog is not installed. Install it from https://cog.run, or use a Dockerfile instead of cog.yaml.",
  );
}

/** Builds the image for the platform of runners. @throws Failure */
export async function buildImage(options: BuildOptions): Promise<BuiltImage> {
  const { project, image, archive, engine, tag, display, signal } = options;
  if (archive !== undefined) {
    display.say(`Reading ${archive}`);
    return { source: await ArchiveFile.open(archive, image, signal), isOwn: false };
  }
  if (!engine) throw new Error("no engine");
  const show = (text: string) => display.say(text.replace(/\n$/, ""));
  if (image !== undefined) {
    if (!(await engine.has(image))) {
      display.say(`Pulling ${image}`);
      await engine.pull(image, show);
    }
  } else {
    const isCog = project.builder === "cog";
    // A builder may keep what it builds to itself: the tag would then still be that of the last build.
    await engine.moveTag(tag, `${tag}:previous`);
    display.say(`Building with ${isCog ? "cog" : engine.name}`);
    if (isCog) await watched(["cog", "build", "--tag", tag], { signal, cwd: project.folder }, show);
    else await engine.build(project.folder, tag, show);
    if (!(await engine.has(tag)))
      throw new Failure(
        `The image was built, but not loaded into ${engine.name}. Use a builder that loads it (docker buildx use default), then run the same command again.`,
      );
  }
  const built = image ?? tag;
  await engine.requirePlatform(built);
  return {
    source: engine.source(built),
    isOwn: image === undefined,
    local: { engine, image: built },
  };
}
