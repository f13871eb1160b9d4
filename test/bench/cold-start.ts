/**
 * The cold start of a large image from the deployment's own registry, on a runner with Docker: from the
 * call to the first output, with none of its layers on the machine, with all but the top one, and with
 * all. Two images that differ in their top layer are pushed: after the first one has been started, the
 * second has all the others.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle } from "../../src/dev/bundle.ts";
import { Client } from "../../src/dev/client.ts";
import { startRunner } from "../../src/dev/runner.ts";
import { seed } from "../../src/dev/seed.ts";
import { Home } from "../cli/support/command.ts";
import { docker } from "../docker/registry.ts";
import { OPERATOR_TOKEN, startBare, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { NAMES, publishImages, removeImages } from "./large-image.ts";
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
