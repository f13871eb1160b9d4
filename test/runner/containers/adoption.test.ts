/** Idle containers that a reload leaves, and the process that adopts them. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type LeftContainer,
  settingsHash,
  takeLeft,
  writeLeft,
} from "../../../runner/src/containers/adoption.ts";
import { type World, warmOf, world } from "../support/fake-containers.ts";

const LEFT: LeftContainer = {
  name: "c1",
  model: { owner: "test", name: "a", version_number: 1 },
  image: { repository: "a", digest: `sha256:${"0".repeat(64)}` },
  keys: { container: warmOf("a").key, files: "f" },
  interface: "cog",
  hardware: { identifier: "cpu", gpus: 0 },
  gpus: [],
  egress: "public",
  max_concurrency: 1,
  handle: { id: "docker-0", address: "http://127.0.0.1:9" },
  token: "t",
  upload_url: "http://127.0.0.1:9/01990000-0000-7000-8000-000000000000",
  image_bytes: 7,
  idle_until: 0,
  has_run: true,
};

describe("the file of left containers", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "auspex-left-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const path = () => join(folder, "left-containers.json");
  const left = {
    settings: "s",
    port: 5_001,
    containers: [{ ...LEFT, keys: { container: "k", files: "f" } }],
  };

  test("the file is readable by its user only, and is read once", async () => {
    await writeLeft(folder, left);
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(await takeLeft(folder, "s")).toEqual(left);
    expect(await takeLeft(folder, "s")).toBeUndefined();
  });

  test("the file is dropped by a process with other settings", async () => {
    await writeLeft(folder, left);
    expect(await takeLeft(folder, "other")).toBeUndefined();
    expect(await takeLeft(folder, "s")).toBeUndefined();
  });

  test("the file is dropped if it was cut off or has another shape", async () => {
    await writeLeft(folder, left);
    writeFileSync(path(), readFileSync(path(), "utf8").slice(0, -1));
    expect(await takeLeft(folder, "s")).toBeUndefined();
    writeFileSync(path(), JSON.stringify({ ...left, containers: [{ ...LEFT, token: undefined }] }));
    expect(await takeLeft(folder, "s")).toBeUndefined();
  });

  test("the file names settings by a hash that differs with each of them", () => {
    const settings = { name: "box", sandbox: { class_runtimes: new Map([["l40s", "runsc"]]) } };
    const hash = settingsHash(settings);
    expect(hash).toBe(settingsHash(structuredClone(settings)));
    expect(hash).not.toContain("box");
    const changed = { ...settings, sandbox: { class_runtimes: new Map([["l40s", "kata"]]) } };
    expect(settingsHash(changed)).not.toBe(hash);
  });
});

describe("the pool of containers", () => {
  let w: World;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    w = world(3);
    w.outliving();
  });
  afterEach(() => w.close());

  async function idle(name: string) {
    const { finish } = w.run(name, { limits: { idle_seconds: 60 } });
    await vi.waitFor(() => expect(w.runs.at(-1)?.container.launch.image.repository).toBe(name));
    w.runs.at(-1)?.end();
    await finish;
  }

  test("the pool leaves idle containers, and stops busy and loading ones", async () => {
    await idle("a");
    const { finish } = w.run("b");
    await w.running(2);
    w.load();
    w.reserve("c");
    await vi.waitFor(() => expect(w.started).toHaveLength(3));
    const left = w.pool.left();
    expect(left).toMatchObject([
      { keys: LEFT.keys, model: LEFT.model, handle: { id: "docker-0" } },
    ]);
    expect(left[0]?.idle_until).toBeLessThanOrEqual(Date.now() + 60_000);
    await w.pool.close(left.map(({ name }) => name));
    expect(await finish).toMatchObject({ status: "failed" });
    await vi.waitFor(() =>
      expect(w.pool.states().map(({ key }) => key)).toEqual([warmOf("a").key]),
    );
  });

  test("the pool leaves no container that a failed run may have broken", async () => {
    const { promise, resolve } = Promise.withResolvers<"retired">();
    const { finish } = w.run("a");
    await w.running(1);
    w.runs[0]?.end({ finish: { status: "failed", output: "none" }, verdict: promise });
    await finish;
    expect(w.pool.left()).toEqual([]);
    resolve("retired");
  });

  const adopt = (changes: Partial<LeftContainer> = {}) =>
    w.pool.adopt({ ...LEFT, idle_until: Date.now() + 20_000, ...changes }, w.parts);

  test("the pool runs predictions in an adopted container without a setup", async () => {
    adopt();
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([warmOf("a")]));
    expect(w.measures.take()).toEqual([]);
    const { reporter, finish } = w.run("a", { measure: true });
    await w.running(1);
    w.runs[0]?.end();
    expect(await finish).toMatchObject({ status: "succeeded", image_bytes: 7 });
    expect(reporter.events).toEqual([
      { event: "setup", data: { phase: "ready", seconds: expect.any(Number) } },
    ]);
    expect(w.started).toHaveLength(1);
  });

  test("the pool stops an adopted container when the rest of its idle time is over", async () => {
    adopt();
    await vi.waitFor(() => expect(w.pool.warm()).toHaveLength(1));
    await vi.advanceTimersByTimeAsync(19_000);
    expect(w.pool.warm()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  test("the pool counts an adopted container until it has ended", async () => {
    for (const name of ["c1", "c2", "c3"]) adopt({ name });
    expect(w.reserve("b").found).toMatch(/no room/);
    await vi.waitFor(() => expect(w.pool.warm()).toHaveLength(3));
    w.started[0]?.exit("exited with code 1");
    await vi.waitFor(() => expect(w.reserve("b").found).toBeTypeOf("object"));
  });
});
