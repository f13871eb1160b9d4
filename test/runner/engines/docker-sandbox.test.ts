/** The sandbox of a container: its share of the machine, its egress, and its secrets. */
import { once } from "node:events";
import { createServer } from "node:net";
import { availableParallelism, networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { checkEngine } from "../../../runner/src/check/docker.ts";
import type { DockerOptions } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Log } from "../../../runner/src/lib/log.ts";
import type { JobHardware } from "../../../src/protocol/runner.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import { DockerBox, recordedLog } from "../support/docker-box.ts";

const MIB = 1024 ** 2;

const SECRET = `it's "sealed" $HOME \`id\` \\ ü\nsecond line`;

const inside = z.object({
  variables: z.record(z.string(), z.string().nullable()),
  uid: z.number(),
  argv: z.array(z.string()),
  pid: z.number(),
});

let box: DockerBox;
let executor: Executor;
const log: Log & { lines: string[] } = recordedLog();

/** Opens one executor for all tests of a group. */
function withEngine(engine: Partial<DockerOptions>): void {
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

async function look(model: string, variables: Record<string, string> = {}, hardware?: JobHardware) {
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
  expect(await finish).toMatchObject({ status: "succeeded" });
  const [id = ""] = await box.containers(model);
  return { seen: inside.parse(reporter.of("output")[0]), inspected: await docker("inspect", id) };
}

const facts = z.object({
  capabilities: z.number(),
  noNewPrivileges: z.string(),
  pids: z.string(),
  memory: z.string(),
  reached: z.record(z.string(), z.string()),
});

/** Returns the capabilities of a container, and the targets that it reaches. */
async function probe(targets: [string, number][] = []) {
  const { reporter, finish } = box.run(executor, "probe", { targets });
  expect(await finish).toMatchObject({ status: "succeeded" });
  return facts.parse(reporter.of("output")[0]);
}

beforeAll(async () => {
  box = await DockerBox.start();
  const script = "insider.mjs";
  await box.push("insider", script, { commands: ["VOLUME /data", "RUN chmod 777 /src"] });
  await box.push("bare", script, { commands: ['RUN ["/bin/busybox", "rm", "/bin/sh"]'] });
  await box.push("liar", "liar.mjs");
  await box.push("probe", "probe.mjs");
  const python = "/usr/local/bin/python";
  const server = `printf '#!/bin/sh\\nexec node /src/model.mjs "$@"\\n' >${python}`;
  await box.push("cog", script, {
    labels: ["run.cog.version=0.17.0"],
    commands: [`RUN ${server} && chmod +x ${python}`],
  });
}, 120_000);
afterAll(() => box.close());

describe.runIf(dockerIsUp)("a container", () => {
  withEngine({ containers: 4 });

  it("a container has variables that Docker does not show", async () => {
    const variables = { HF_TOKEN: SECRET, PPID: "7", HOST: "1.2.3.4", EMPTY: "" };
    const { seen, inspected } = await look("insider", variables);
    expect(seen.variables).toEqual({ ...variables, HOST: "0.0.0.0" });
    expect(seen.pid).toBe(1);
    expect(inspected).not.toContain("HF_TOKEN");
    expect(inspected).not.toContain("sealed");
    expect(log.lines.join()).not.toContain("sealed");
  });

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

  it("the engine keeps a container from this machine, its neighbours and the metadata service", async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, "0.0.0.0");
    await once(server, "listening");
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    // The run has ended and its idle container is the probe's neighbour.
    await box.run(executor, "liar", { mode: "pid" }).finish;
    const addressOf = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    const neighbour = await docker(
      "inspect",
      "--format",
      addressOf,
      ...(await box.containers("liar")),
    );
    const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const mine = own.filter(({ family, internal }) => family === "IPv4" && !internal);
    const targets: [string, number][] = [
      ["host", port],
      ...mine.map(({ address: host }): [string, number] => [host, port]),
      ["169.254.169.254", 80],
      ["10.0.0.1", 80],
      // Docker gives its networks lower addresses when others are taken.
      ["192.168.254.1", 80],
      [neighbour, 5_000],
    ];
    const { reached } = await probe(targets);
    for (const [host] of targets) expect([host, reached[host]]).toEqual([host, "ECONNREFUSED"]);

    const script = `require("net").connect(${port}, process.argv[1])
      .on("connect", () => process.exit(0)).on("error", () => process.exit(1))`;
    // `port` is open to containers outside the runner's network: otherwise the test would prove nothing.
    await docker("run", "--rm", "node:24-slim", "node", "-e", script, mine[0]?.address ?? "");
    server.close();
  });
});

describe.runIf(dockerIsUp)("a container with limits", () => {
  withEngine({
    sandbox: {
      pids: 64,
      memory_bytes: 256 * MIB,
      egress: false,
      runtime: "runc",
      class_runtimes: new Map([["l40s", "io.containerd.runc.v2"]]),
    },
  });

  it("the engine keeps a container within its limits", async () => {
    const seen = await probe();
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, SETGID 6, SETUID 7, NET_BIND_SERVICE 10.
    const allowed = [0, 1, 3, 6, 7, 10].reduce((mask, bit) => mask + 2 ** bit, 0);
    expect(seen).toMatchObject({ capabilities: allowed, noNewPrivileges: "1" });
    expect(seen).toMatchObject({ pids: "64", memory: String(256 * MIB) });
  });

  it("the engine keeps a container from everything if egress is off", async () => {
    const { reached } = await probe([["1.1.1.1", 80]]);
    expect(reached["1.1.1.1"]).toBe("ECONNREFUSED");
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

  it.each(["/src/scratch.bin", "/data/scratch.bin"])(
    "a container ends when it writes too much: %s",
    async (file) => {
      const { finish } = box.run(executor, "insider", { file, mebibytes: 30 });
      const message = expect.stringContaining("wrote more than its 0.0195 GB of disk");
      expect(await finish).toMatchObject({
        status: "failed",
        error: { source: "external", message },
      });
      expect(log.lines.join()).toContain("has no quotas: checking regularly what containers write");
      const next = await box.run(executor, "insider").finish;
      expect(next).toMatchObject({ status: "succeeded" });
    },
  );
});

describe.runIf(dockerIsUp)("a runtime that Docker lacks", () => {
  it("a container is not started with a runtime that Docker does not have", async () => {
    const executor = box.executor({ sandbox: { runtime: "runsc" } }, log);
    const message = expect.stringMatching(/^Docker has no runtime runsc, which --runtime requires/);
    await expect(executor.open()).rejects.toMatchObject({ source: "internal", message });
    const findings = await checkEngine({ kind: "docker", sandbox: { runtime: "runsc" } });
    const [isolation] = findings.filter(({ name }) => name === "container isolation");
    expect(isolation).toMatchObject({ ok: false, advice: expect.stringContaining("daemon.json") });
  });
});
