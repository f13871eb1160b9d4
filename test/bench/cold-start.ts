/**
 * The cold start of a large image from the deployment's own registry, on a runner with Docker: from the
 * call to the first output, with none of its layers on the machine, with all but the top one, and with
 * all. Two images that differ in their top layer are pushed: after the first one has been started, the
 * second has all the others.
 */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle } from "../../src/dev/bundle.ts";
import { Client } from "../../src/dev/client.ts";
import { startRunner } from "../../src/dev/runner.ts";
import { seed } from "../../src/dev/seed.ts";
import { Home } from "../cli/support/command.ts";
import { buildExample, docker } from "../docker/registry.ts";
import { copyModel } from "../support/models.ts";
import { OPERATOR_TOKEN, startBare, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { type Table, times } from "./table.ts";

const MOST = 3;
const RUNNER = "bench-cold";
const RUNNER_STOP_MS = 10_000;

export async function measureColdStart({ image: size }: Effort): Promise<Table> {
  const table = { title: `A cold start of an image with ${size} MiB of weights`, head: ["layers"] };
  if (!(await dockerAnswers())) return { ...table, rows: [], notes: ["Docker does not answer."] };
  const home = new Home({ DOCKER_BUILDKIT: "0", DOCKER_HOST: process.env.DOCKER_HOST ?? "" });
  const script = await bundle(join(home.folder, "bundle"));
  const deployment = await startBare(script, { IMAGE_REGISTRY: "" });
  const { host } = new URL(deployment.url);
  try {
    const user = await seed(new Client(deployment.url, OPERATOR_TOKEN), USERNAME);
    Object.assign(home.environment, { AUSPEX_URL: deployment.url, AUSPEX_TOKEN: user.token });
    await publishImages(home, size);
    const runner = startRunner({
      ...{ url: deployment.url, token: user.runnerToken, name: RUNNER, hardware: "cpu", slots: 1 },
      stateFolder: join(home.folder, "runner"),
      environment: { AUSPEX_LOG_LEVEL: "warn" },
      onLine: (line) => console.error(`runner: ${line}`),
    });
    try {
      const client = new Client(deployment.url, user.token);
      const [first, second] = NAMES;
      const none = await firstOutput(client, first);
      const top = await firstOutput(client, second);
      const all = await firstOutput(client, second);
      const row = (what: string, took: number) => [what, seconds(took), times(took / all)];
      return {
        ...table,
        head: ["layers on the machine", "first output", "ratio"],
        rows: [row("none", none), row("all but the top one", top), row("all", all)],
        notes: ["from the call that creates a prediction; what is pulled comes from local R2"],
        verdicts: [
          {
            what: "without the top layer, of a start with all",
            value: top / all,
            bound: { most: MOST },
          },
        ],
      };
    } finally {
      await runner.stop(RUNNER_STOP_MS);
    }
  } finally {
    await deployment.stop();
    await removeImages(`${host}/*/*/*`);
    home.remove();
  }
}

const seconds = (took: number) => `${(took / 1000).toFixed(1)} s`;

const dockerAnswers = () =>
  docker("info").then(
    () => true,
    () => false,
  );

/** Returns the time from the call to the first output, ms, after all containers of the runner are gone. */
async function firstOutput(client: Client, name: string): Promise<number> {
  const label = `label=auspex.runner=${RUNNER}`;
  while ((await docker("ps", "--all", "--quiet", "--filter", label)) !== "") await sleep(100);
  const body = { model: `${USERNAME}/${name}`, stream: true, input: { name: "Ada" } };
  const began = performance.now();
  let first: number | undefined;
  let end: unknown;
  for await (const { event, data } of client.events("POST", "/predictions", { body })) {
    if (event === "output") first ??= performance.now() - began;
    if (event === "done") end = data;
  }
  if (first === undefined) throw new Error(`no output: ${JSON.stringify(end)}`);
  return first;
}

/** Two images that differ only in their top layer, published with `auspex`. */

const MIB = 1024 ** 2;
/** Images of language models have large layers, too, and Docker pulls three at a time. */
const LAYERS = 4;

/** The names of the models. */
const NAMES = ["first", "second"] as const;
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
async function publishImages(home: Home, size: number): Promise<void> {
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
      const image = ["--image", tagOf(name), "--model", name];
      const args = ["publish", project, ...image, "--no-wait", "--quiet"];
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
async function removeImages(pattern: string): Promise<void> {
  const listed = await docker("images", "--quiet", pattern);
  for (const id of new Set(listed.split("\n").filter(Boolean)))
    await docker("image", "rm", "--force", id);
}
