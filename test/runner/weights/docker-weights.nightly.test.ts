/** Weights in real containers of other images and users, cached, missing, or out of Docker's reach. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DockerEngine } from "../../../runner/src/engines/docker/docker-engine.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { dockerIsUp, silent } from "../support/containers.ts";
import {
  bothKinds,
  box,
  expectReadOnly,
  run,
  server,
  useImages,
  variables,
  withSandbox,
} from "../support/docker-weights-bed.ts";

const LEASE = { gpus: [], memory_bytes: 2 ** 28, cpus: 1, shm_bytes: 2 ** 20 };

useImages(async (into) => {
  await into.push("weights", "weights.mjs");
  await into.push("managed", "weights.mjs", { labels: ["run.cog.weight.base=x"] });
  await into.push("plain", "liar.mjs");
});

describe.runIf(dockerIsUp)("containers", () => {
  withSandbox({});

  it("containers of an image with managed weights find their weights, read-only", () =>
    expectReadOnly("managed"));

  it("containers keep their weights while they run, and cached weights are not fetched again", async () => {
    const weights = bothKinds("weights");
    const limits = { idle_seconds: 0 };
    expect(await run("weights", weights, { limits }).finish).toMatchObject({ status: "succeeded" });
    const { length } = server.requests;
    expect(await run("weights", weights, { limits }).finish).toMatchObject({ status: "succeeded" });
    expect(server.requests).toHaveLength(length);
  });

  it("containers do not start without their weights, nor share with those that have others", async () => {
    const [cog, file] = bothKinds("managed");
    if (!cog || !file) throw new Error("two of them");
    const before = await box.containers("managed");
    server.trouble = (request) => (request.url?.includes("files") ? { status: 404 } : undefined);
    expect((await run("managed", [cog, file]).finish).error).toMatchObject({
      source: "external",
      message: expect.stringContaining(
        "The weights at /models/a.txt: the deployment no longer has it",
      ),
    });
    expect(before).toEqual(expect.arrayContaining(await box.containers("managed")));
    expect((await run("managed", []).finish).error?.message).toContain("managed weights");
    server.trouble = () => undefined;
    expect(await run("managed", [cog, file]).finish).toMatchObject({ status: "succeeded" });
    const elsewhere: JobWeight = { ...file, target: "/elsewhere" };
    const { error } = await run("managed", [cog, elsewhere]).finish;
    expect(error?.message).toContain("exited");
  });
});

describe.runIf(dockerIsUp)("containers of any user", () => {
  withSandbox({ user: "65534:65534", readonly_rootfs: true });

  it("containers of any user with a read-only root find their weights", async () => {
    const { reporter, finish } = run("weights", bothKinds("weights"), {
      variables: { ...variables, HOME: "/tmp" },
    });
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toMatchObject([{ user: 65_534, inside: "inside" }]);
  });
});

describe.runIf(dockerIsUp)("containers without an executor", () => {
  it("containers that Docker cannot give weights fail with the operator's remedy", async () => {
    const engine = new DockerEngine(`${box.name}-2`, { kind: "docker" }, silent);
    const { signal } = new AbortController();
    const image = box.images.plain ?? expect.fail("plain");
    const model = { owner: "test", name: "plain" };
    await engine.open(async () => 1);
    try {
      await engine.pull({ image, model }, () => {}, signal);
      const hardware = { identifier: "cpu", gpus: 0 };
      const what = { image, model, hardware, interface: "cog" } as const;
      const launch = { ...what, egress: "public", uploadUrl: "" } as const;
      // The source does not exist for Docker, as when the runner is in a container with other folders.
      const mounts = [{ source: join(box.folder, "nowhere"), target: "/models/a" }];
      const starting = engine.start(
        { ...launch, variables: {}, environment: {}, mounts, lease: LEASE },
        signal,
      );
      const failure = await starting.catch((error: unknown) => error);
      expect(failure).toMatchObject({
        source: "internal",
        message: expect.stringContaining("--state"),
      });
      expect(failure).toMatchObject({ message: expect.not.stringContaining(box.folder) });
    } finally {
      await engine.close();
    }
  });
});
