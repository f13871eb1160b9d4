/** The sandbox of a container with other images, runtimes, users and shares. */
import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { checkEngine } from "../../../runner/src/check/docker.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import {
  box,
  executor,
  expectTooMuch,
  log,
  look,
  MIB,
  SECRET,
  useImages,
  withEngine,
} from "../support/sandbox-bed.ts";

useImages(async (into) => {
  const script = "insider.mjs";
  await into.push("insider", script, { commands: ["VOLUME /data", "RUN chmod 777 /src"] });
  await into.push("bare", script, { commands: ['RUN ["/bin/busybox", "rm", "/bin/sh"]'] });
  const python = "/usr/local/bin/python";
  const server = `printf '#!/bin/sh\\nexec node /src/model.mjs "$@"\\n' >${python}`;
  await into.push("cog", script, {
    labels: ["run.cog.version=0.17.0"],
    commands: [`RUN ${server} && chmod +x ${python}`],
  });
});

describe.runIf(dockerIsUp)("a container", () => {
  withEngine({ containers: 4 });

  it("a container has variables beside the flags of Cog's server", async () => {
    const { seen, inspected } = await look("cog", { HF_TOKEN: SECRET });
    expect(seen.variables.HF_TOKEN).toBe(SECRET);
    expect(seen.argv).toEqual([
      "-m",
      "cog.server.http",
      "--await-explicit-shutdown=true",
      expect.stringMatching(/^--upload-url=http/),
    ]);
    expect(inspected).not.toContain("sealed");
  });

  it("a container without a shell has visible variables, and the log says so", async () => {
    const { seen, inspected } = await look("bare", { HF_TOKEN: "plain" });
    expect(seen.variables.HF_TOKEN).toBe("plain");
    expect(inspected).toContain("HF_TOKEN=plain");
    expect(log.lines.join()).toMatch(/has no \/bin\/sh, so docker inspect shows.*test\/bare/);
  });

  it("a container has an equal share of the machine", async () => {
    const equal = JSON.parse((await look("insider")).inspected)[0].HostConfig;
    const total = Number(await docker("info", "--format", "{{.MemTotal}}"));
    expect(equal.Memory).toBe(Math.floor((total * 0.9) / 4));
    expect(equal.MemorySwap).toBe(equal.Memory);
    expect(equal.NanoCpus).toBe((availableParallelism() / 4) * 1e9);
  });

  it("a container whose root is close to the machine's root is warned about", async () => {
    const warned = "warn root in a container is root on this machine, with fewer capabilities";
    expect(log.lines.join("\n")).toContain(warned);
    const [isolation] = (await checkEngine({ kind: "docker" })).filter(
      ({ name }) => name === "container isolation",
    );
    expect(isolation).toMatchObject({ ok: true, advice: expect.stringContaining("userns-remap") });
  });
});

describe.runIf(dockerIsUp)("a container of a class of hardware", () => {
  withEngine({
    sandbox: {
      runtime: "runc",
      class_runtimes: new Map([["l40s", "io.containerd.runc.v2"]]),
    },
  });

  it("a container has the runtime of its class of hardware", async () => {
    const runtimeOn = async (identifier: string) => {
      const { inspected } = await look("insider", {}, { identifier, gpus: 0 });
      return JSON.parse(inspected)[0].HostConfig.Runtime;
    };
    expect(await runtimeOn("l40s")).toBe("io.containerd.runc.v2");
    expect(await runtimeOn("cpu")).toBe("runc");
  });
});

describe.runIf(dockerIsUp)("a container of a user", () => {
  withEngine({
    containers: 4,
    sandbox: { runtime: "io.containerd.runc.v2", user: "1000:1000", cpus: 0, pids: 99 },
  });

  it("a container has the share and the user that its operator says", async () => {
    const { seen, inspected } = await look("insider", { HF_TOKEN: SECRET });
    expect(seen.uid).toBe(1000);
    expect(seen.variables.HF_TOKEN).toBe(SECRET);
    const said = JSON.parse(inspected)[0].HostConfig;
    expect(said).toMatchObject({ Runtime: "io.containerd.runc.v2", NanoCpus: 0, PidsLimit: 99 });
  });
});

describe.runIf(dockerIsUp)("a container with a share of the disk", () => {
  withEngine({ watch_interval_ms: 50, sandbox: { disk_bytes: 20 * MIB } });

  it("a container ends when it writes too much into a volume, and the next one runs", async () => {
    await expectTooMuch("/data/scratch.bin");
    const next = await box.run(executor, "insider").finish;
    expect(next).toMatchObject({ status: "succeeded" });
  });
});

describe.runIf(dockerIsUp)("a runtime that Docker lacks", () => {
  it("a container is not started with a runtime that Docker does not have", async () => {
    const lacking = box.executor({ sandbox: { runtime: "runsc" } }, log);
    const message = expect.stringMatching(/^Docker has no runtime runsc, which --runtime requires/);
    await expect(lacking.open()).rejects.toMatchObject({ source: "internal", message });
    const findings = await checkEngine({ kind: "docker", sandbox: { runtime: "runsc" } });
    const [isolation] = findings.filter(({ name }) => name === "container isolation");
    expect(isolation).toMatchObject({ ok: false, advice: expect.stringContaining("daemon.json") });
  });
});
