/** Containers of engines with different options, and what their processes see there. */
import { afterAll, beforeAll, expect } from "vitest";
import { z } from "zod";
import type { DockerOptions } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Log } from "../../../runner/src/lib/log.ts";
import type { JobHardware } from "../../../src/protocol/runner.ts";
import { docker } from "../../docker/registry.ts";
import { DockerBox, recordedLog } from "./docker-box.ts";

export const MIB = 1024 ** 2;

export const SECRET = `it's "sealed" $HOME \`id\` \\ ü\nsecond line`;

const inside = z.object({
  variables: z.record(z.string(), z.string().nullable()),
  uid: z.number(),
  argv: z.array(z.string()),
  pid: z.number(),
  /** The container's short ID. */
  hostname: z.string(),
});

const containers = z.tuple([
  z.object({
    NetworkSettings: z.object({
      Networks: z.record(z.string(), z.object({ IPAddress: z.string() })),
    }),
  }),
]);

export let box: DockerBox;
export let executor: Executor;
export const log: Log & { lines: string[] } = recordedLog();

/** Starts a box with the images that `push` makes for all tests of a file. */
export function useImages(push: (into: DockerBox) => Promise<void>): void {
  beforeAll(async () => {
    box = await DockerBox.start();
    await push(box);
  }, 120_000);
  afterAll(() => box.close());
}

/** Opens one executor for all tests of a group. */
export function withEngine(engine: Partial<DockerOptions>): void {
  beforeAll(async () => {
    log.lines.length = 0;
    executor = box.executor(engine, log);
    await executor.open();
  });
  afterAll(async () => {
    await executor.close();
    expect(await box.containers()).toEqual([]);
    expect(await box.networks()).toEqual([]);
  });
}

export async function look(
  model: string,
  variables: Record<string, string> = {},
  hardware?: JobHardware,
) {
  const names = [...Object.keys(variables), "HOST"];
  const { reporter, finish } = box.run(
    executor,
    model,
    { names },
    {
      variables,
      ...(hardware && { hardware }),
    },
  );
  const ended = await finish;
  expect(ended, JSON.stringify(ended)).toMatchObject({ status: "succeeded" });
  const seen = inside.parse(reporter.of("output")[0]);
  const inspected = await docker("inspect", seen.hostname);
  const [{ NetworkSettings }] = containers.parse(JSON.parse(inspected));
  const [network] = Object.values(NetworkSettings.Networks);
  return { seen, inspected, address: network?.IPAddress ?? expect.fail("no network") };
}

const facts = z.object({
  capabilities: z.number(),
  noNewPrivileges: z.string(),
  pids: z.string(),
  memory: z.string(),
  reached: z.record(z.string(), z.string()),
});

/** Returns the capabilities of a container, and the targets that it reaches. */
export async function probe(targets: [string, number][] = []) {
  const { reporter, finish } = box.run(executor, "insider", { targets });
  const ended = await finish;
  expect(ended, JSON.stringify(ended)).toMatchObject({ status: "succeeded" });
  return facts.parse(reporter.of("output")[0]);
}

/** Expects that a container is ended once it has written 30 MiB of 20 into the file. */
export async function expectTooMuch(file: string): Promise<void> {
  const { finish } = box.run(executor, "insider", { file, mebibytes: 30 });
  const message = expect.stringContaining("wrote more than its 0.0195 GB of disk");
  expect(await finish).toMatchObject({
    status: "failed",
    error: { source: "external", message },
  });
  expect(log.lines.join()).toContain("has no quotas: checking regularly what containers write");
}
