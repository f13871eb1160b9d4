/** Two images that differ only in their top layer, published with `auspex`. */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "../cli/support/command.ts";
import { buildExample, docker } from "../docker/registry.ts";
import { copyModel } from "../support/models.ts";

const MIB = 1024 ** 2;
/** Images of language models have large layers, too, and Docker pulls three at a time. */
const LAYERS = 4;

/** The names of the models. */
export const NAMES = ["first", "second"] as const;
const tagOf = (name: string) => `auspex-bench/${name}`;

/**
 * The base is copied into an empty image: as a parent it would be an image on this machine, whose layer is
 * already there. The top layer is the model's code.
 */
const DOCKERFILE = `FROM node:24-slim AS base
FROM scratch
COPY --from=base / /
${Array.from({ length: LAYERS }, (_, n) => `COPY weights-${n} /weights/`).join("\n")}
ENV PATH=/usr/local/bin:/usr/bin:/bin
WORKDIR /src
COPY model /src
CMD ["node", "model.mjs"]
`;

/**
 * Publishes the images and removes them from Docker. @param size MiB of weights, which no compression makes
 * smaller
 */
export async function publishImages(home: Home, size: number): Promise<void> {
  // `buildExample` builds node:24-slim if it cannot be pulled.
  await docker("image", "rm", await buildExample("hello", tagOf("base")));
  const context = join(home.folder, "context");
  await copyModel("hello", join(context, "model"));
  await writeFile(join(context, "Dockerfile"), DOCKERFILE);
  for (let n = 0; n < LAYERS; n++) await writeWeights(join(context, `weights-${n}`), size / LAYERS);
  const manifest = JSON.parse(await readFile(join(context, "model/auspex.json"), "utf8"));
  // A container of the model ends with its prediction.
  const configuration = { ...manifest.configuration, idle_seconds: 0 };
  const project = join(home.folder, "project");
  await mkdir(project);
  await writeFile(join(project, "auspex.json"), JSON.stringify({ ...manifest, configuration }));
  try {
    for (const name of NAMES) {
      await writeFile(join(context, "model/top"), name);
      await docker("build", "--quiet", "--tag", tagOf(name), context);
      const args = ["publish", project, "--image", tagOf(name), "--model", name, "--quiet"];
      const { code, err } = await home.run(args);
      if (code !== 0) throw new Error(`auspex publish: ${err}`);
    }
  } finally {
    await removeImages(tagOf("*"));
  }
}

async function writeWeights(path: string, size: number): Promise<void> {
  const file = await open(path, "w");
  for (let n = 0; n < size; n++) await file.write(randomBytes(MIB));
  await file.close();
}

/** Removes images from Docker. @param pattern of their names */
export async function removeImages(pattern: string): Promise<void> {
  const listed = await docker("images", "--quiet", pattern);
  for (const id of new Set(listed.split("\n").filter(Boolean)))
    await docker("image", "rm", "--force", id);
}
