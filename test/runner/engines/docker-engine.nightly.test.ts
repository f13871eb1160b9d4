/** Images that the engine starts in other ways or refuses, and files that come out of their containers otherwise. */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import { docker } from "../../docker/registry.ts";
import {
  dockerIsUp,
  type JobOptions,
  makeJob,
  record,
  signals,
  silent,
} from "../support/containers.ts";
import { DockerBox } from "../support/docker-box.ts";

describe.runIf(dockerIsUp)("the Docker engine", () => {
  let box: DockerBox;
  let executor: Executor;

  const run = (
    model: string,
    input: Record<string, Json> = {},
    stop = signals(),
    more: JobOptions = {},
  ) => box.run(executor, model, input, more, stop);

  beforeAll(async () => {
    box = await DockerBox.start();
    box.images.sums = await box.registry.push("sums");
    await box.push("liar", "liar.mjs");
    await box.push("probe", "insider.mjs");
    await box.push("files", "files.mjs", { commands: ["ENV DECLARES=1"] });
    // Cog's command starts this file in the images that Cog has built.
    const python = "/usr/local/bin/python";
    const server = `printf '#!/bin/sh\\nexec node /src/model.mjs "$@"\\n' >${python}`;
    await box.push("cog", "files.mjs", {
      labels: ["run.cog.version=0.17.0"],
      commands: [`RUN ${server} && chmod +x ${python}`],
    });
    const Output = { type: "array", items: { type: "string", format: "uri" } };
    await box.push("list", "files.mjs", {
      labels: [
        "run.cog.version=0.22.0",
        `run.cog.openapi_schema=${JSON.stringify({ components: { schemas: { Output } } })}`,
      ],
      commands: [`RUN ${server} && chmod +x ${python}`],
    });
    await box.push("wrong", "liar.mjs", { commands: ['CMD ["nowhere"]'] });
    await box.push("weights", "liar.mjs", { labels: ["run.cog.weight.a=x"] });
    const copied = ["WORKDIR /src", "COPY . .", 'CMD ["node", "model.mjs"]'];
    const anew = ["FROM node:24-slim", ...copied, "ENV FIXED_PORT=8123", "EXPOSE 8123/tcp"];
    await box.push("fixed", "server.mjs", { commands: anew });
    await box.push("server", "server.mjs");
    executor = box.executor({}, silent, 2);
    await executor.open();
  }, 120_000);

  afterAll(async () => {
    await executor.close();
    expect(await box.containers()).toEqual([]);
    await box.close();
  });

  it.each(["server", "fixed"])(
    "the engine finds a OpenAI server on its port: %s",
    async (model) => {
      const input = { way: "say", words: ["a"], stream: true };
      const job = { interface: "vendora", call: "chat_completions" } as const;
      const { reporter, finish } = run(model, input, signals(), job);
      expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
      const choices = [{ index: 0, delta: { content: "a" } }];
      expect(reporter.of("output")).toEqual([{ model: "test/model", choices }]);
    },
  );

  it("the engine pulls an image again that was removed before it was started", async () => {
    const image = box.images.sums ?? expect.fail("not pushed");
    const reporter = record();
    let removals = 0;
    const setup = (progress: SetupProgress) => {
      reporter.setup(progress);
      if (progress.phase === "starting" && removals++ === 0)
        execFileSync("docker", ["rmi", "--force", `${image.repository}@${image.digest}`]);
    };
    const job = makeJob(image, { numbers: [1, 2] });
    const done = await executor.run(job, { ...reporter, setup }, signals());
    expect(done).toMatchObject({ status: "succeeded" });
    expect(removals).toBeGreaterThan(0);
    expect(JSON.stringify(reporter.of("setup"))).toMatch(/pulling.*starting.*pulling.*ready/);
  });

  it("the engine reports everything that a server prints while it starts", async () => {
    const input = { messages: [], stream: true, way: "say" };
    const more = { interface: "vendora", call: "chat_completions" } as const;
    const { reporter, finish } = run("server", input, signals(), {
      ...more,
      variables: { SETUP: "loud" },
    });
    expect(await finish).toMatchObject({ status: "succeeded" });
    const logs = reporter.of("setup").map((data) => (data as SetupProgress).logs ?? "");
    for (const layer of [3, 2, 1]) expect(logs.join("")).toContain(`löading layer ${layer}\n`);
  });

  it("the engine says what to publish in place of an image's ID", async () => {
    const { repository = "" } = box.images.probe ?? {};
    const digest = await docker("image", "inspect", "--format", "{{.Id}}", repository);
    box.images.id = { repository, digest };
    const { error } = await run("id").finish;
    expect(error?.source).toBe("external");
    expect(error?.message).toContain("the registry has no image with this name and digest");
    expect(error?.message).toContain("docker push prints rather than the id");
  });

  it("the engine explains a command that cannot be run", async () => {
    const wrong = await run("wrong").finish;
    expect(wrong.error).toMatchObject({
      source: "external",
      message: expect.stringContaining("The image's command 'nowhere' cannot be run"),
    });
    expect(await box.containers("wrong")).toEqual([]);
  });

  it("the engine refuses managed weights", async () => {
    const { finish } = run("weights");
    const message = expect.stringContaining("managed weights");
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("the engine reports a crash with the container's last output", async () => {
    const { finish } = run("liar", { mode: "crash" });
    const message = expect.stringMatching(/exited with code 139:\n[\s\S]*segmentation fault/);
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  describe("files out of a container", () => {
    const stored = (address: unknown) => box.plane.files.stored.get(String(address));

    it("files inside a list come in their order, which Cog's uploads would lose", async () => {
      const names = ["a", "b", "c"];
      const inline = (as: string, n: number) => ({
        inline: { text: as, size: 300_000 - 100_000 * n, type: "image/png", as },
      });
      const value = ["$argv", ...names.map((name) => `$${name}`)];
      const { reporter, finish } = run("list", {
        steps: [...names.map(inline), { say: { value } }],
      });
      expect(await finish).toMatchObject({ status: "succeeded" });
      const [[argv, ...addresses]] = z
        .tuple([z.tuple([z.array(z.string())], z.string())])
        .parse(reporter.of("output"));
      expect(argv).toEqual(["-m", "cog.server.http", "--await-explicit-shutdown=true"]);
      expect(addresses.map((address) => stored(address)?.bytes.toString("utf8", 0, 1))).toEqual(
        names,
      );
    });

    it("files that are too large are refused, and their container goes on", async () => {
      const write = { write: { name: "big.bin", size: 60_000_000, as: "big" } };
      const { finish } = run("files", { steps: [write, { say: { value: "$big" } }] });
      const message = "The file big.bin is larger than 50000000 bytes.";
      expect(await finish).toMatchObject({
        status: "failed",
        error: { source: "external", message },
      });
      const next = run("files", { steps: [{ say: { value: "still here" } }] });
      expect(await next.finish).toMatchObject({ status: "succeeded" });
    });

    it("files go where Cog is told to upload them", async () => {
      const { reporter, finish } = run("cog", { steps: [{ say: { value: "$argv" } }] });
      expect(await finish).toMatchObject({ status: "succeeded" });
      expect(reporter.of("output")).toEqual([
        [
          "-m",
          "cog.server.http",
          "--await-explicit-shutdown=true",
          expect.stringMatching(/^--upload-url=http:\/\/host\.docker\.internal:\d+\/[\w-]{36}$/),
        ],
      ]);
    });
  });
});
