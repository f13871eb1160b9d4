/** Builds the image that is published, or finds it in an engine or an archive. */

import { Failure, Misuse } from "../failure.ts";
import { ArchiveFile } from "../image/archive-file.ts";
import { Engine } from "../image/engine.ts";
import { answers, watched } from "../image/program.ts";
import type { ImageSource } from "../image/push-image.ts";
import type { Display } from "../ui/display.ts";
import type { Project } from "./project.ts";

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
  /** The engine that has the image and can start it. */
  local?: { engine: Engine; image: string };
}

/** Finds what is needed to get the image, before anything is created. @throws Failure */
export async function findEngine(
  { project, image, archive }: Source,
  name: string | undefined,
  signal: AbortSignal,
): Promise<Engine | undefined> {
  if (archive !== undefined) return undefined;
  if (image === undefined && project.builder === undefined)
    throw new Misuse(
      `${project.folder} has no cog.yaml and no Dockerfile. Create one with auspex init, or publish an existing image with --image or --archive.`,
    );
  if (image !== undefined || project.builder !== "cog") return Engine.find(name, signal);
  // Cog builds with Docker.
  const engine = await Engine.find("docker", signal);
  if (await answers(["cog", "--version"], signal)) return engine;
  throw new Failure(
    "cog.yaml needs Cog. Install it (https://cog.run), or give the folder a Dockerfile and no cog.yaml.",
  );
}

/** For the platform of runners. @throws Failure */
export async function buildImage(options: BuildOptions): Promise<BuiltImage> {
  const { project, image, archive, engine, tag, display, signal } = options;
  if (archive !== undefined) {
    display.say(`Reading ${archive}`);
    return { source: await ArchiveFile.open(archive, image, signal) };
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
        `The image was built, but the builder did not load it into ${engine.name}. Switch to one that does (docker buildx use default), then run the same command again.`,
      );
  }
  const built = image ?? tag;
  await engine.requirePlatform(built);
  return { source: engine.source(built), local: { engine, image: built } };
}
