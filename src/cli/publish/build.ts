/** Makes the image that is published, or finds the one that there is. */

import { Failure, Misuse } from "../failure.ts";
import { Engine } from "../image/engine.ts";
import { answers, watched } from "../image/program.ts";
import type { Display } from "../ui/display.ts";
import type { Project } from "./project.ts";

export interface BuildOptions {
  project: Project;
  /** Of an image that there is. */
  image: string | undefined;
  /** What to call the one that is built. */
  tag: string;
  engineName: string | undefined;
  display: Display;
  signal: AbortSignal;
}

export interface BuiltImage {
  engine: Engine;
  image: string;
}

/** For the platform of runners. @throws Failure */
export async function buildImage(options: BuildOptions): Promise<BuiltImage> {
  const { project, image, tag, display, signal } = options;
  const show = (text: string) => display.say(text.replace(/\n$/, ""));
  if (image === undefined && project.builder === undefined)
    throw new Misuse(
      `${project.folder} has neither a cog.yaml nor a Dockerfile. auspex init makes one; --image publishes an image that there is.`,
    );
  // Cog builds with Docker.
  const isCog = image === undefined && project.builder === "cog";
  const engine = await Engine.find(isCog ? "docker" : options.engineName, signal);
  if (image !== undefined) {
    if (!(await engine.has(image))) {
      display.say(`Pulling ${image}`);
      await engine.pull(image, show);
    }
  } else if (isCog) {
    if (!(await answers(["cog", "--version"], signal)))
      throw new Failure(
        "cog.yaml needs Cog. Install it (https://cog.run), or give the folder a Dockerfile and no cog.yaml.",
      );
    display.say("Building with cog");
    await watched(["cog", "build", "--tag", tag], { signal, cwd: project.folder }, show);
  } else {
    display.say(`Building with ${engine.name}`);
    await engine.build(project.folder, tag, show);
  }
  const built = image ?? tag;
  await engine.requirePlatform(built);
  return { engine, image: built };
}
