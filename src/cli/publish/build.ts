/** Makes the image that is published, or finds the one that there is. */

import { Failure, Misuse } from "../failure.ts";
import { Engine } from "../image/engine.ts";
import { answers, watched } from "../image/program.ts";
import type { Display } from "../ui/display.ts";
import type { Project } from "./project.ts";

export interface Source {
  project: Project;
  /** Of an image that there is. */
  image: string | undefined;
}

export interface BuildOptions extends Source {
  engine: Engine;
  /** What to call the one that is built. */
  tag: string;
  display: Display;
  signal: AbortSignal;
}

export interface BuiltImage {
  engine: Engine;
  image: string;
}

/** What it takes to get the image, before anything is made. @throws Failure */
export async function findEngine(
  { project, image }: Source,
  name: string | undefined,
  signal: AbortSignal,
): Promise<Engine> {
  if (image === undefined && project.builder === undefined)
    throw new Misuse(
      `${project.folder} has neither a cog.yaml nor a Dockerfile. auspex init makes one; --image publishes an image that there is.`,
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
  const { project, image, engine, tag, display, signal } = options;
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
  return { engine, image: built };
}
