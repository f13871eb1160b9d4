import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { checkEngine } from "../../../runner/src/check/docker.ts";
import { exitText } from "../../../runner/src/engines/engine.ts";
import { folderDigest, listModels } from "../../../runner/src/engines/process/model-folder.ts";
import { ProcessEngine } from "../../../runner/src/engines/process/process-engine.ts";
import {
  PidFiles,
  signalGroup,
  spawnGroup,
} from "../../../runner/src/engines/process/process-group.ts";
import type { Log } from "../../../runner/src/lib/log.ts";
import { processesIn } from "../../processes/processes-in.ts";
import { TEST_MODELS } from "../../support/models.ts";
import { type Box, makeJob, openBox, record, signals, silent } from "../support/containers.ts";
import { addModel } from "../support/model-folders.ts";

const source = (path: string) => fileURLToPath(new URL(`../../../runner/${path}`, import.meta.url));

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "auspex-process-"));
});
afterEach(async () => {
  await vi.waitFor(() => expect(processesIn(directory)).toEqual([]));
  rmSync(directory, { recursive: true });
});

describe("the digest of a folder", () => {
  const write = (name: string, content: string) => writeFileSync(join(directory, name), content);

  it("the digest is that of the folder's files, independent of its path", async () => {
    const copy = join(directory, "copy");
    cpSync(join(TEST_MODELS, "hello"), copy, { recursive: true });
    const digest = await folderDigest(copy);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await folderDigest(join(TEST_MODELS, "hello"))).toBe(digest);
    cpSync(join(TEST_MODELS, "hello"), join(copy, "node_modules/hello"), { recursive: true });
    writeFileSync(join(copy, ".env"), "");
    expect(await folderDigest(copy)).toBe(digest);
    writeFileSync(join(copy, "model.mjs"), "");
    expect(await folderDigest(copy)).not.toBe(digest);
  });

  it("the digest tells names from contents", async () => {
    write("a", "bc");
    const one = await folderDigest(directory);
    rmSync(join(directory, "a"));
    write("ab", "c");
    expect(await folderDigest(directory)).not.toBe(one);
  });
});

it("the models of a folder are listed", async () => {
  const models = await listModels(source("examples"));
  const names = ["chat", "embeddings", "image", "speech-to-text"];
  names.push("text-generation", "text-to-speech");
  expect(models.map(({ manifest }) => manifest.name)).toEqual(names);
});

describe("a process group", () => {
  it("a process group dies with its runner, even by SIGKILL", async () => {
    const script = `
      import { spawnGroup } from ${JSON.stringify(source("src/engines/process/process-group.ts"))};
      const command = ["sh", "-c", "sleep 1000 & sleep 1000"];
      spawnGroup({ command, directory: ${JSON.stringify(directory)}, environment: process.env });
      console.log("started");
    `;
    const runner = spawn(process.execPath, ["--input-type=module", "-e", script]);
    await once(runner.stdout, "data");
    await vi.waitFor(() => expect(processesIn(directory).length).toBeGreaterThanOrEqual(3));
    runner.kill("SIGKILL");
    await vi.waitFor(() => expect(processesIn(directory)).toEqual([]));
  });

  it("a process group is swept by its pid file, unless the pid means another process", async () => {
    const environment = { PATH: process.env.PATH ?? "" };
    const group = () => spawnGroup({ command: ["sleep", "1000"], directory, environment });
    const [left, foreign] = [group(), group()];
    const ended = once(left, "exit");
    const files = new PidFiles(join(directory, "processes"));
    await files.sweep();
    await files.add(left.pid ?? 0);
    writeFileSync(join(directory, "processes", String(foreign.pid)), "1");
    expect(await files.sweep()).toEqual([left.pid]);
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(readdirSync(join(directory, "processes"))).toEqual([]);
    expect(foreign.exitCode).toBeNull();
    signalGroup(foreign.pid ?? 0, "SIGKILL");
  });
});

const LAUNCH = {
  interface: "cog",
  hardware: { identifier: "cpu", gpus: 0 },
  egress: "public",
  variables: {},
  environment: {},
  mounts: [],
  lease: { gpus: [], memory_bytes: 1e9, cpus: 1, shm_bytes: 1e8 },
} as const;

describe("the engine", () => {
  let box: Box;
  beforeEach(async () => {
    box = await openBox();
  });
  afterEach(async () => {
    await box.close();
    await vi.waitFor(() => expect(box.processes()).toEqual([]));
  });

  it("the engine says what is missing, without paths", async () => {
    const missing = await box.run("nothing", {}).finish;
    const words = "has no folder test/nothing in its models directory";
    expect(missing).toMatchObject({ error: { source: "internal" } });
    expect(missing.error?.message).toContain(words);
    writeFileSync(join(box.models, "hello/new.txt"), "");
    const changed = await box.run("hello", {}).finish;
    const { digest } = await box.image("hello");
    expect(changed).toMatchObject({ error: { source: "internal" } });
    expect(changed.error?.message).toContain(
      `its folder test/hello does not match this version (${digest})`,
    );
    for (const { error } of [missing, changed])
      expect(error?.message).toContain("for hardware whose runners have Docker");
    for (const { error } of [missing, changed]) expect(error?.message).not.toContain(box.directory);
  });

  it("the engine reports the last output of a crash, without the model's path", async () => {
    const folder = join(box.models, "broken");
    addModel(box.models, "broken", join(TEST_MODELS, "hello/model.mjs"));
    writeFileSync(join(folder, "model.mjs"), "throw new Error('no weights');\n");
    const image = { repository: "r/broken", digest: await folderDigest(folder) };
    const model = { owner: "test", name: "broken", version_number: 1 };
    const { error } = await box.executor.run(makeJob(image, {}, { model }), record(), signals());
    expect(error?.message).toMatch(/exited with code 1:[\s\S]*\.\/model\.mjs[\s\S]*no weights/);
    expect(error?.message).not.toContain(box.directory);
  });

  it.each(["none" as const, ["huggingface.co"]])(
    "the engine runs nothing with restricted egress: %s",
    async (egress) => {
      const { error } = await box.run("hello", {}, { egress }).finish;
      expect(error?.source).toBe("internal");
      expect(error?.message).toContain("configuration.egress");
      expect(error?.message).toContain("--engine docker");
      expect(box.processes()).toEqual([]);
    },
  );

  it.each([
    ["eve", "liar"],
    ["eve", "hello"],
    ["test", "liar"],
    ["..", "test"],
    ["test", "../test/hello"],
  ])(
    "the engine runs no folder for an account that only knows its digest: %s/%s",
    async (owner, name) => {
      mkdirSync(join(box.owners, "eve"));
      cpSync(join(box.models, "liar"), join(box.owners, "eve/liar"), { recursive: true });
      const model = { owner, name, version_number: 1 };
      const { finish } = box.run("hello", { name: "Eve" }, { model });
      expect(await finish).toMatchObject({ status: "failed", error: { source: "internal" } });
      expect(box.processes()).toEqual([]);
    },
  );

  it("the engine finds a model whose owner's folder is a link", async () => {
    symlinkSync(box.models, join(box.owners, "ada"));
    const model = { owner: "ada", name: "hello", version_number: 1 };
    const { finish } = box.run("hello", { name: "Ada" }, { model });
    expect(await finish).toMatchObject({ status: "succeeded" });
    await vi.waitFor(() => expect(box.executor.images()).toHaveLength(1));
  });

  it("the engine gives a model the variables that its folder names, and few others", async () => {
    vi.stubEnv("AUSPEX_TOKEN", "secret");
    const variables = {
      STYLE: "plain",
      WEBHOOK_AUTH_TOKEN: "mine",
      PORT: "1",
      GIT_SSH_COMMAND: "sh -c evil",
    };
    const { reporter, finish } = box.run("liar", { mode: "environment" }, { variables });
    expect(await finish).toMatchObject({ status: "succeeded" });
    vi.unstubAllEnvs();
    const engine = ["HOME", "HOST", "PATH", "PORT", "TMPDIR"];
    const gpus = ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"];
    const given = [
      ...engine,
      ...gpus,
      "AUSPEX_UPLOAD_URL",
      "COG_THROTTLE_RESPONSE_INTERVAL",
      "STYLE",
    ];
    const shell = ["OLDPWD", "PWD", "SHLVL", "_"];
    const [names] = reporter.of("output");
    expect(names).toEqual(expect.arrayContaining([...given, "WEBHOOK_AUTH_TOKEN"]));
    const extra = [...given, ...shell, "WEBHOOK_AUTH_TOKEN"];
    expect(extra).toEqual(expect.arrayContaining(Array.isArray(names) ? names : []));
  });

  it("an exit with code 137 says that the container was killed", () => {
    expect(exitText(137)).toBe(
      "exited with code 137 (killed, possibly because it ran out of memory)",
    );
    expect(exitText(1)).toBe("exited with code 1");
  });

  it("the engine reports a command that does not exist", async () => {
    const models = join(directory, "models/test");
    addModel(models, "broken", join(TEST_MODELS, "hello/model.mjs"));
    const manifest = { name: "broken", command: ["no-such-program"] };
    const schemas = { prediction: { input: {}, output: {} } };
    writeFileSync(join(models, "broken/auspex.json"), JSON.stringify({ ...manifest, schemas }));
    const options = {
      kind: "process",
      models: join(directory, "models"),
      state: directory,
    } as const;
    const engine = new ProcessEngine(options, silent);
    await engine.open(async () => 1);
    const [found] = await listModels(models);
    const digest = found?.digest ?? "";
    const uploadUrl = "http://127.0.0.1:9/up";
    const model = { owner: "test", name: "broken" };
    const launch = { ...LAUNCH, model, image: { repository: "r", digest }, uploadUrl };
    const { exited } = await engine.start(launch);
    const logs = expect.stringContaining("no-such-program");
    expect(await exited).toEqual({ description: "exited with code 127", logs });
  });

  it("the engine removes processes of its predecessor, and nothing else", async () => {
    const state = join(directory, "state");
    for (const folder of ["tmp/auspex-scratch-Abc123", "tmp/mine", "processes/mine"]) {
      mkdirSync(join(state, folder), { recursive: true });
    }
    writeFileSync(join(state, "processes/1"), "no process began then");
    writeFileSync(join(state, "processes/notes.txt"), "mine");
    const engine = new ProcessEngine({ kind: "process", models: box.owners, state }, silent);
    await engine.open(async () => 1);
    expect(readdirSync(join(state, "tmp"))).toEqual(["mine"]);
    expect(readdirSync(join(state, "processes")).sort()).toEqual(["mine", "notes.txt"]);
  });

  it("the engine reports an exit also when some of its files cannot be removed", async () => {
    const processes = join(directory, "processes");
    const engine = new ProcessEngine(
      { kind: "process", models: box.owners, state: directory },
      silent,
    );
    await engine.open(async () => 1);
    const uploadUrl = "http://127.0.0.1:9/up";
    const image = await box.image("hello");
    const launch = { ...LAUNCH, model: { owner: "test", name: "hello" }, image, uploadUrl };
    const { exited, kill } = await engine.start(launch);
    const [pid = ""] = readdirSync(processes);
    rmSync(join(processes, pid));
    mkdirSync(join(processes, pid));
    await kill();
    expect(await exited).toMatchObject({ description: "was ended by SIGKILL" });
  });

  it("the engine has a check in words", async () => {
    const options = { kind: "process", models: box.owners, state: directory } as const;
    const [isolation, good] = await checkEngine(options);
    expect(isolation).toMatchObject({
      ok: true,
      detail: expect.stringContaining("provides no isolation"),
    });
    expect(good).toMatchObject({
      ok: true,
      detail: expect.stringContaining("test/hello, test/image, test/liar"),
    });
    const [, bad] = await checkEngine({ ...options, models: join(directory, "nowhere") });
    expect(bad).toMatchObject({ ok: false, advice: expect.stringContaining("--models") });
    const [, misplaced] = await checkEngine({ ...options, models: box.models });
    expect(misplaced).toMatchObject({ advice: expect.stringContaining("{owner}/{name}") });
  });

  it("the engine logs at its start that it isolates nothing", async () => {
    const warnings: string[] = [];
    const log: Log = { ...silent, warn: (message) => warnings.push(message) };
    const options = { kind: "process", models: box.owners, state: directory } as const;
    await new ProcessEngine(options, log).open(async () => 1);
    expect(warnings).toEqual([expect.stringContaining("provides no isolation")]);
  });
});

it("a missing Docker is reported with advice", async () => {
  const socket = join(directory, "docker.sock");
  const [finding] = await checkEngine({ kind: "docker", socket });
  expect(finding).toMatchObject({ ok: false, name: "docker", advice: expect.any(String) });
});

it("a Docker that answers nonsense is reported", async () => {
  const socket = join(directory, "docker.sock");
  const server = createServer((_request, response) => response.end("{}")).listen(socket);
  const [finding] = await checkEngine({ kind: "docker", socket });
  server.closeAllConnections();
  server.close();
  expect(finding).toMatchObject({ ok: false, name: "docker" });
});
