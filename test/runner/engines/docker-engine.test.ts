import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createExecutor } from "../../../runner/src/containers/create-executor.ts";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { checkEngine } from "../../../runner/src/engines/docker/check.ts";
import { usesGpus } from "../../../runner/src/engines/docker/gpus.ts";
import { hasReference, imageFacts } from "../../../runner/src/engines/docker/image.ts";
import type { Sandbox } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import { copyExample } from "../../../src/dev/examples.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { Image } from "../../../src/protocol/runner.ts";
import { docker, type Registry, startRegistry } from "../../docker/registry.ts";
import {
  dockerIsUp,
  fileOptions,
  makeJob,
  QUICK,
  record,
  signals,
  silent,
} from "../support/containers.ts";
import { FakeControlPlane } from "../support/fake-control-plane.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

describe("an image", () => {
  it("is known by repository and digest together", () => {
    const names = ["registry.test/ada/m@sha256:1", "hello@sha256:2"];
    expect(hasReference(names, "registry.test/ada/m@sha256:1")).toBe(true);
    expect(hasReference(names, "registry.test/eve/m@sha256:1")).toBe(false);
    expect(hasReference(names, "docker.io/library/hello@sha256:2")).toBe(true);
    expect(hasReference(names, "registry.test/library/hello@sha256:2")).toBe(false);
  });

  it("says by its labels whether Cog built it and whether it wants a GPU", () => {
    const config = JSON.stringify({ build: { gpu: true } });
    const labels = { "run.cog.version": "0.17.0", "run.cog.config": config };
    const none = "none";
    expect(imageFacts(labels)).toMatchObject({ cog: true, gpu: "needed" });
    expect(imageFacts({ "org.cogmodel.version": "0.1" })).toMatchObject({ cog: true, gpu: none });
    expect(imageFacts({})).toMatchObject({ cog: false, gpu: none });
    const cuda = ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all"];
    expect(imageFacts({}, cuda)).toMatchObject({ cog: false, gpu: "welcome" });
    for (const value of ["", "none", "void"]) {
      expect(imageFacts({}, [`NVIDIA_VISIBLE_DEVICES=${value}`]).gpu).toBe(none);
    }
    // Cog says it itself, whatever it is built on.
    expect(imageFacts({ "run.cog.version": "0.17.0" }, cuda)).toMatchObject({
      cog: true,
      gpu: none,
    });
    expect(() => imageFacts({ "run.cog.weight.a": "x" })).toThrow("managed weights");
    expect(() => imageFacts({ ...labels, "run.cog.config": "{" })).toThrow("run.cog.config");
  });

  it("says by its labels whether its uploads would lose the order of its files", () => {
    const file = { type: "string", format: "uri" };
    const list = { type: "array", items: file };
    const uploads = (version: string, Output: object, prefix = "run.cog.") => {
      const schema = JSON.stringify({ components: { schemas: { Output, File: file } } });
      const labels = { [`${prefix}version`]: version, [`${prefix}openapi_schema`]: schema };
      return imageFacts(labels).uploads;
    };
    for (const version of ["0.17.0", "v0.22.0", "0.17.0-rc.1", "1.0.0"]) {
      expect(uploads(version, list)).toBe(false);
      expect(uploads(version, { ...list, items: { $ref: "#/components/schemas/File" } })).toBe(
        false,
      );
      expect(uploads(version, file)).toBe(true);
      expect(uploads(version, { type: "array", items: { type: "string" } })).toBe(true);
      expect(uploads(version, { ...list, "x-cog-array-type": "iterator" })).toBe(true);
    }
    for (const version of ["0.9.9", "0.16.12", "dev", ""]) {
      expect(uploads(version, list)).toBe(true);
    }
    expect(uploads("0.0.1", list, "org.cogmodel.")).toBe(true);
    expect(imageFacts({ "run.cog.version": "0.22.0" }).uploads).toBe(true);
    expect(imageFacts({ "run.cog.version": "0.22.0", "run.cog.openapi_schema": "{" }).uploads).toBe(
      true,
    );
  });
});

describe("GPUs", () => {
  it("are asked for by choice, or as the image needs them and Docker has them", () => {
    const nvidia = { Runtimes: { runc: {}, nvidia: {} } };
    const cdi = { Runtimes: { runc: {} }, DiscoveredDevices: [{ ID: "nvidia.com/gpu=all" }] };
    const bare = { Runtimes: { runc: {} }, DiscoveredDevices: [{ ID: "vendor.com/net=0" }] };
    for (const docker of [nvidia, cdi]) {
      expect(usesGpus("image", "welcome", docker)).toBe(true);
      expect(usesGpus("image", "none", docker)).toBe(false);
      expect(usesGpus("never", "needed", docker)).toBe(false);
    }
    for (const docker of [bare, {}]) {
      expect(usesGpus("image", "welcome", docker)).toBe(false);
      // Without them it fails, and so it should.
      expect(usesGpus("image", "needed", docker)).toBe(true);
      expect(usesGpus("always", "none", docker)).toBe(true);
    }
  });
});

describe.runIf(dockerIsUp)("the Docker engine", () => {
  const folder = mkdtempSync(join(tmpdir(), "auspex-docker-"));
  const images: Record<string, Image> = {};
  let registry: Registry;
  let plane: FakeControlPlane;
  let name: string;
  let executor: Executor;

  /** Builds on the example `hello`: its server, and another model. */
  async function push(
    model: string,
    script: string,
    labels: string[] = [],
    commands: string[] = [],
  ): Promise<void> {
    const context = join(folder, model);
    await copyExample("hello", context);
    cpSync(here(`../models/${script}`), join(context, "model.mjs"));
    const output = {};
    const manifest = { name: model, schemas: { prediction: { input: {}, output } } };
    writeFileSync(join(context, "auspex.json"), JSON.stringify(manifest));
    appendFileSync(join(context, "Dockerfile"), `\n${commands.join("\n")}\n`);
    const repository = `${registry.host}/test/${model}`;
    const flags = labels.flatMap((label) => ["--label", label]);
    await docker("build", "--quiet", "--tag", repository, ...flags, context);
    await docker("push", "--quiet", repository);
    const [reference = ""] = JSON.parse(
      await docker("image", "inspect", "--format", "{{json .RepoDigests}}", repository),
    );
    images[model] = { repository, digest: reference.split("@")[1] };
  }

  function open(sandbox: Partial<Sandbox> = {}): Executor {
    const engine = { kind: "docker", sandbox } as const;
    const controlPlane = new ControlPlane({ url: plane.url, token: "ausr_x" });
    const files = fileOptions(join(folder, "cache"));
    const options = { name, slots: 2, engine, controlPlane, files, log: silent, timing: QUICK };
    return createExecutor(options);
  }

  function run(
    image: Image | undefined,
    input = {},
    stop = signals(),
    more: Parameters<typeof makeJob>[2] = {},
  ) {
    if (!image) throw new Error("no such image");
    const reporter = record();
    return { reporter, finish: executor.run(makeJob(image, input, more), reporter, stop) };
  }

  const containers = () => docker("ps", "-aq", "--filter", `label=auspex.runner=${name}`);

  beforeAll(async () => {
    registry = await startRegistry();
    plane = await FakeControlPlane.start();
    images.hello = await registry.push("hello");
    images.sums = await registry.push("sums");
    await push("liar", "liar.mjs");
    await push("probe", "probe.mjs");
    await push("files", "files.mjs", [], ["ENV DECLARES=1"]);
    // What Cog's command starts in the images that Cog has built.
    const python = "/usr/local/bin/python";
    const server = `printf '#!/bin/sh\\nexec node /src/model.mjs "$@"\\n' >${python}`;
    await push(
      "cog",
      "files.mjs",
      ["run.cog.version=0.17.0"],
      [`RUN ${server} && chmod +x ${python}`],
    );
    const Output = { type: "array", items: { type: "string", format: "uri" } };
    await push(
      "list",
      "files.mjs",
      [
        "run.cog.version=0.22.0",
        `run.cog.openapi_schema=${JSON.stringify({ components: { schemas: { Output } } })}`,
      ],
      [`RUN ${server} && chmod +x ${python}`],
    );
    await push("wrong", "liar.mjs", [], ['CMD ["nowhere"]']);
    await push("gpu", "liar.mjs", [
      "run.cog.version=0.17.0",
      'run.cog.config={"build":{"gpu":true}}',
    ]);
    await push("weights", "liar.mjs", ["run.cog.weight.a=x"]);
    const copied = ["WORKDIR /src", "COPY . .", 'CMD ["node", "model.mjs"]'];
    const anew = ["FROM node:24-slim", ...copied, "ENV FIXED_PORT=8123", "EXPOSE 8123/tcp"];
    await push("fixed", "server.mjs", [], anew);
    await push("server", "server.mjs");
  }, 120_000);

  afterAll(async () => {
    await registry.stop();
    await plane.stop();
    rmSync(folder, { recursive: true });
  });

  beforeEach(async () => {
    name = `test-${randomBytes(4).toString("hex")}`;
    executor = open();
    await executor.open();
  });

  afterEach(async () => {
    await executor.close();
    expect(await containers()).toBe("");
    expect(await docker("network", "ls", "-q", "--filter", `name=auspex-${name}`)).toBe("");
  });

  it.each(["server", "fixed"])("finds a vendora server on its port: %s", async (model) => {
    const input = { way: "say", words: ["a"], stream: true };
    const job = { interface: "vendora", call: "chat_completions" } as const;
    const { reporter, finish } = run(images[model], input, signals(), job);
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    const choices = [{ index: 0, delta: { content: "a" } }];
    expect(reporter.of("output")).toEqual([{ model: "test/model", choices }]);
  });

  it("pulls by digest with progress, runs, and uses the container again", async () => {
    const { reporter, finish } = run(images.hello, { name: "Ada" }, signals(), { measure: true });
    expect(await finish).toMatchObject({ status: "succeeded", output: "value" });
    // Node alone is larger.
    expect((await finish).image_bytes).toBeGreaterThan(50_000_000);
    expect(reporter.of("output")).toEqual(["Hello, Ada!"]);
    const setup = JSON.stringify(reporter.of("setup"));
    expect(setup).toMatch(/pulling.*starting.*ready/);
    const before = await containers();
    await run(images.hello).finish;
    expect(await containers()).toBe(before);
    const reference = `${images.hello?.repository}@${images.hello?.digest}`;
    expect(executor.warm()).toEqual([{ key: "c", model: "test/model:1" }]);
    await vi.waitFor(() => expect(executor.images()).toContain(reference));
  });

  it("tells what a server prints while it starts, whole", async () => {
    const input = { messages: [], stream: true, way: "say" };
    const more = { interface: "vendora", call: "chat_completions" } as const;
    const { reporter, finish } = run(images.server, input, signals(), {
      ...more,
      variables: { SETUP: "loud" },
    });
    expect(await finish).toMatchObject({ status: "succeeded" });
    const logs = reporter.of("setup").map((data) => (data as SetupProgress).logs ?? "");
    for (const layer of [3, 2, 1]) expect(logs.join("")).toContain(`löading layer ${layer}\n`);
  });

  it("does not run an image on the box for whoever knows its digest only", async () => {
    const stolen = { repository: `${registry.host}/eve/probe`, digest: images.probe?.digest ?? "" };
    const { finish } = run(stolen);
    const message = expect.stringContaining("cannot be pulled");
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("says what to publish in the place of an image's id", async () => {
    const { repository = "" } = images.probe ?? {};
    const digest = await docker("image", "inspect", "--format", "{{.Id}}", repository);
    const { error } = await run({ repository, digest }).finish;
    expect(error?.source).toBe("external");
    expect(error?.message).toContain("the registry has no image with this digest");
    expect(error?.message).toContain("docker push prints rather than the id");
  });

  it("says what is wrong with a command, and with a GPU that is not there", async () => {
    const wrong = await run(images.wrong).finish;
    expect(wrong.error).toMatchObject({
      source: "external",
      message: expect.stringContaining("the image's command 'nowhere' cannot be run"),
    });
    // No machine of these tests has one.
    const gpu = await run(images.gpu).finish;
    expect(gpu.error).toMatchObject({
      source: "external",
      message: expect.stringMatching(/^the image needs a GPU and the runner's machine has none/),
    });
    expect(await containers()).toBe("");
  });

  it("refuses managed weights", async () => {
    const { finish } = run(images.weights);
    const message = expect.stringContaining("managed weights");
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("tells of a crash with the container's last words", async () => {
    const { finish } = run(images.liar, { mode: "crash" });
    const message = expect.stringMatching(/exited with code 139:\n[\s\S]*segmentation fault/);
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("kills a container that does not stop", async () => {
    const stop = signals();
    const input = { numbers: [1], mode: "slow", ignore_cancel: true, seconds: 60 };
    const { reporter, finish } = run(images.sums, input, stop);
    await reporter.first("logs");
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled" });
    expect(await containers()).toBe("");
  });

  it("sweeps what an earlier life of the same runner left, and nothing else", async () => {
    const repository = images.probe?.repository ?? "";
    const left = (runner: string) =>
      docker("run", "-d", "--label", `auspex.runner=${runner}`, repository);
    const [mine, other] = [await left(name), await left(`${name}-other`)];
    const next = open();
    await next.open();
    const ids = (await docker("ps", "-aq", "--no-trunc")).split("\n");
    expect(ids).not.toContain(mine);
    expect(ids).toContain(other);
    await docker("rm", "--force", other);
    await next.close();
  });

  describe("files out of a container", () => {
    const stored = (address: unknown) => plane.files.stored.get(String(address));

    it("come by the callbackServer, and are read where the output names them", async () => {
      const steps = [
        { put: { name: "up.png", text: "pixels", type: "image/png", as: "up" } },
        { write: { name: "down.csv", text: "1,2", as: "down" } },
        { say: { value: ["$up", { deep: "$down" }] } },
      ];
      const { reporter, finish } = run(images.files, { steps });
      expect(await finish).toMatchObject({ status: "succeeded" });
      const [up] = plane.files.named("up.png");
      const [down] = plane.files.named("down.csv");
      expect(reporter.of("output")).toEqual([[up, { deep: down }]]);
      expect(stored(up)).toMatchObject({ mime_type: "image/png", bytes: Buffer.from("pixels") });
      expect(stored(down)).toMatchObject({ mime_type: "text/csv", bytes: Buffer.from("1,2") });
    });

    it("come inside of a list, whose order Cog's uploads would lose, in their order", async () => {
      const names = ["a", "b", "c"];
      const inline = (as: string, n: number) => ({
        inline: { text: as, size: 300_000 - 100_000 * n, type: "image/png", as },
      });
      const value = ["$argv", ...names.map((name) => `$${name}`)];
      const { reporter, finish } = run(images.list, {
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

    it("are only what this run has written, as a file", async () => {
      const link = { link: { name: "link", target: "/etc/passwd", as: "link" } };
      const refused = async (steps: Record<string, unknown>[]) => {
        const { error } = await run(images.files, { steps }).finish;
        expect(error?.source).toBe("external");
        return error?.message;
      };
      const named = (value: string) => refused([{ say: { value } }]);
      expect(await named("file:///etc/passwd")).toContain("was not written by this run");
      expect(await named("file:///proc/1/environ")).toMatch(
        /^the container has no file|no regular/,
      );
      // Three failures in a row, and the container goes.
      expect(await refused([link, { say: { value: "$link" } }])).toContain("not a regular file");
      expect(await named("file:///tmp")).toContain("not a regular file");
      expect(await named("file:///nowhere")).toBe("the container has no file /nowhere");
    });

    it("are refused when they are too large, and their container goes on", async () => {
      const write = { write: { name: "big.bin", size: 60_000_000, as: "big" } };
      const { finish } = run(images.files, { steps: [write, { say: { value: "$big" } }] });
      const message = "the file big.bin is larger than 50000000 bytes";
      expect(await finish).toMatchObject({
        status: "failed",
        error: { source: "external", message },
      });
      const next = run(images.files, { steps: [{ say: { value: "still here" } }] });
      expect(await next.finish).toMatchObject({ status: "succeeded" });
    });

    it("go where Cog is told to upload them", async () => {
      const { reporter, finish } = run(images.cog, { steps: [{ say: { value: "$argv" } }] });
      expect(await finish).toMatchObject({ status: "succeeded" });
      expect(reporter.of("output")).toEqual([
        [
          "-m",
          "cog.server.http",
          "--await-explicit-shutdown=true",
          expect.stringMatching(/^--upload-url=http:\/\/host\.docker\.internal:\d+\/[\w-]{24}$/),
        ],
      ]);
    });
  });

  const facts = z.object({
    capabilities: z.number(),
    noNewPrivileges: z.string(),
    pids: z.string(),
    memory: z.string(),
    reached: z.record(z.string(), z.string()),
  });

  async function look(targets: [string, number][] = []) {
    const { reporter, finish } = run(images.probe, { targets });
    expect(await finish).toMatchObject({ status: "succeeded" });
    return facts.parse(reporter.of("output")[0]);
  }

  it("keeps a container in its limits", async () => {
    await executor.close();
    executor = open({ pids: 64, memory_bytes: 256 * 1024 ** 2 });
    await executor.open();
    const seen = await look();
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, SETGID 6, SETUID 7, NET_BIND_SERVICE 10.
    const allowed = [0, 1, 3, 6, 7, 10].reduce((mask, bit) => mask + 2 ** bit, 0);
    expect(seen).toMatchObject({ capabilities: allowed, noNewPrivileges: "1" });
    expect(seen).toMatchObject({ pids: "64", memory: String(256 * 1024 ** 2) });
  });

  it("keeps a container from this machine, its neighbours and the metadata service", async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, "0.0.0.0");
    await once(server, "listening");
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    // Idle, and its container still up: the probe's neighbour.
    await run(images.liar, { mode: "pid" }).finish;
    const addressOf = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    const neighbour = await docker("inspect", "--format", addressOf, await containers());
    const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const mine = own.filter(({ family, internal }) => family === "IPv4" && !internal);
    const targets: [string, number][] = [
      ["host", port],
      ...mine.map(({ address: host }): [string, number] => [host, port]),
      ["169.254.169.254", 80],
      ["10.0.0.1", 80],
      // Docker gives its networks the lower ones, when others of them are taken.
      ["192.168.254.1", 80],
      [neighbour, 5_000],
    ];
    const { reached } = await look(targets);
    for (const [host] of targets) expect([host, reached[host]]).toEqual([host, "ECONNREFUSED"]);

    const script = `require("net").connect(${port}, process.argv[1])
      .on("connect", () => process.exit(0)).on("error", () => process.exit(1))`;
    // Without the runner's network the same callbackServer is open: the test would notice a closed one.
    await docker("run", "--rm", "node:24-slim", "node", "-e", script, mine[0]?.address ?? "");
    server.close();
  });

  it("keeps a container from everything when told so", async () => {
    await executor.close();
    executor = open({ egress: false });
    await executor.open();
    const { reached } = await look([["1.1.1.1", 80]]);
    expect(reached["1.1.1.1"]).toBe("ECONNREFUSED");
  });

  it("is checked in words", async () => {
    const findings = await checkEngine({ kind: "docker" });
    expect(findings.map(({ name: what }) => what)).toEqual([
      "docker",
      "docker storage",
      "nvidia container toolkit",
      "container isolation",
      "container shares",
      "model variables",
      "container firewall",
    ]);
    expect(findings.filter(({ ok }) => !ok)).toEqual([]);
  });
});
