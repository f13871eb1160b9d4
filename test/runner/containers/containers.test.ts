/** The life of containers, over an engine and an interface in memory: time is the test's. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallbackServer } from "../../../runner/src/containers/callback-server.ts";
import { external } from "../../../runner/src/containers/failure.ts";
import { ContainerPool } from "../../../runner/src/containers/pool.ts";
import { type RunParts, runJob } from "../../../runner/src/containers/run-job.ts";
import { Tunnels } from "../../../runner/src/containers/tunnels.ts";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { PullProgress } from "../../../runner/src/engines/docker/pull-progress.ts";
import type {
  Engine,
  Exit,
  LaunchOptions,
  RunningContainer,
} from "../../../runner/src/engines/engine.ts";
import { InputFiles } from "../../../runner/src/files/input-files.ts";
import { OutputFiles } from "../../../runner/src/files/output-files.ts";
import type { Outcome, ServerInterface } from "../../../runner/src/interfaces/interface.ts";
import { DEFAULT_TIMING } from "../../../runner/src/interfaces/interface.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import { fileOptions, makeJob, record, signals, silent } from "../support/containers.ts";

const imageOf = (name: string) => ({ repository: name, digest: `sha256:${"0".repeat(64)}` });
const modelOf = (name: string) => ({ owner: "test", name, version_number: 1 });
const warmOf = (name: string) => ({ key: "c", model: `test/${name}:1` });

class FakeContainer implements RunningContainer {
  readonly address = new URL("http://127.0.0.1:9");
  readonly #exit = Promise.withResolvers<Exit>();
  readonly exited = this.#exit.promise;
  readonly launch: LaunchOptions;
  forgotten = 0;

  constructor(launch: LaunchOptions) {
    this.launch = launch;
  }

  follow(): () => void {
    return () => {};
  }

  clearLogs(): void {
    this.forgotten += 1;
  }

  async read(): Promise<never> {
    throw external("there are no files in memory");
  }

  exit(description: string): void {
    this.#exit.resolve({ description, logs: "" });
  }

  async stop(): Promise<void> {
    this.exit("was stopped");
  }

  async kill(): Promise<void> {
    this.exit("was killed");
  }
}

/** Runs end when the test says so; a start that is `held` waits for its release. */
function world(slots: number) {
  const started: FakeContainer[] = [];
  const runs: {
    container: FakeContainer;
    end: (outcome?: Partial<Outcome>) => void;
    fail: (reason: unknown) => void;
  }[] = [];
  let held: Promise<void> | undefined;
  const engine: Engine = {
    open: async () => new URL("http://127.0.0.1:9"),
    images: async () => [],
    async pull(_image, report) {
      report({ phase: "pulling", progress: 0.5 });
      await held;
      return 1_234;
    },
    async start(launch) {
      const container = new FakeContainer(launch);
      started.push(container);
      return container;
    },
    close: async () => {},
  };
  const server: ServerInterface = {
    environment: () => ({}),
    async connect({ ended }, report) {
      report("loading\n");
      const container = started.at(-1);
      if (!container) throw external("nothing has started");
      return {
        declaresFiles: false,
        stopsOnDisconnect: false,
        run({ stop }) {
          const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
          const end = (outcome: Partial<Outcome> = {}) =>
            resolve({
              finish: { status: "succeeded", output: "none" },
              container: "kept",
              ...outcome,
            });
          const failed = { status: "failed", output: "none" } as const;
          ended.addEventListener("abort", () => end({ finish: failed, container: "retired" }));
          stop.addEventListener("abort", () =>
            end({ finish: { status: "canceled", output: "none" } }),
          );
          runs.push({ container, end, fail: reject });
          return promise;
        },
        shutdown: async () => {},
        close() {},
      };
    },
  };
  const pool = new ContainerPool(slots);
  const callbackServer = new CallbackServer();
  callbackServer.setBaseUrl(new URL("http://127.0.0.1:9"));
  const controlPlane = new ControlPlane({ url: "http://127.0.0.1:9", token: "ausr_x" });
  const directory = join(tmpdir(), "never-written");
  const inputs = new InputFiles(callbackServer, controlPlane, fileOptions(directory));
  const outputs = new OutputFiles(callbackServer, controlPlane, silent, {
    directory,
    max_file_bytes: 1,
  });
  const files = { inputs, outputs, tunnels: new Tunnels(callbackServer) };
  const parts: RunParts = { engine, server, ...files, timing: DEFAULT_TIMING, log: silent };
  return {
    pool,
    started,
    runs,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    run(name: string, more?: Parameters<typeof makeJob>[2], stop = signals()) {
      const reporter = record();
      const job = makeJob(imageOf(name), {}, { model: modelOf(name), ...more });
      return { reporter, finish: runJob(pool, parts, job, reporter, stop) };
    },
    running: (count: number) => vi.waitFor(() => expect(runs).toHaveLength(count)),
  };
}

let w: ReturnType<typeof world>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  w = world(2);
});
afterEach(async () => {
  await w.pool.close();
  expect(w.pool.warm()).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const failure: Outcome["finish"] = { status: "failed", output: "none" };

describe("a container", () => {
  it("is started once for jobs that share it, and each hears all of its setup", async () => {
    const release = w.hold();
    const limits = { max_concurrency: 2 };
    const first = w.run("a", { limits });
    const second = w.run("a", { limits });
    await second.reporter.first("setup");
    release();
    await w.running(2);
    expect(w.started).toHaveLength(1);
    for (const { reporter } of [first, second]) {
      const phases = reporter.of("setup").map((data) => (data as SetupProgress).phase);
      expect(phases).toEqual(["pulling", "starting", "starting", "ready"]);
    }
    for (const run of w.runs) run.end();
    await Promise.all([first.finish, second.finish]);
  });

  it("is another one when there is no room, and for other variables", async () => {
    w = world(3);
    void w.run("a");
    void w.run("a");
    void w.run("a", { variables: { STYLE: "plain" } });
    await w.running(3);
    expect(w.started).toHaveLength(3);
    expect(w.pool.warm()).toEqual([]);
  });

  it("is another one for whoever may not share it, though the image is the same", async () => {
    w = world(3);
    const limits = { max_concurrency: 2 };
    const keys = [
      { container: "ada", files: "f" },
      { container: "eve", files: "f" },
    ];
    for (const one of [...keys, ...keys]) void w.run("a", { limits, keys: one });
    await w.running(4);
    expect(w.started).toHaveLength(2);
  });

  it("that may not stand idle has one run, and is gone after it", async () => {
    const { finish } = w.run("a", { limits: { idle_seconds: 0 } });
    await w.running(1);
    w.runs[0]?.end();
    await finish;
    expect(w.pool.warm()).toEqual([]);
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
    void w.run("a", { limits: { idle_seconds: 0 } });
    await w.running(2);
    expect(w.started).toHaveLength(2);
  });

  it("is used again while warm, without the words of the run before", async () => {
    const first = w.run("a");
    await w.running(1);
    w.runs[0]?.end();
    await first.finish;
    expect(w.pool.warm()).toEqual([warmOf("a")]);
    const { reporter } = w.run("a");
    await w.running(2);
    expect(w.started).toHaveLength(1);
    // What was printed before it was ready, and then the first run's.
    expect(w.started[0]?.forgotten).toBe(2);
    expect(reporter.events).toEqual([{ event: "setup", data: { phase: "ready" } }]);
  });

  it("stops when it has been idle for its time, not before", async () => {
    const { finish } = w.run("a", { limits: { idle_seconds: 300 } });
    await w.running(1);
    w.runs[0]?.end();
    await finish;
    await vi.advanceTimersByTimeAsync(299_000);
    expect(w.pool.warm()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(w.pool.warm()).toEqual([]);
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  it("goes when room is needed, the one that was used longest ago first", async () => {
    for (const [index, name] of ["a", "b", "a"].entries()) {
      const { finish } = w.run(name);
      await w.running(index + 1);
      w.runs[index]?.end();
      await finish;
    }
    void w.run("c");
    await w.running(4);
    expect(w.started.map(({ launch }) => launch.image.repository)).toEqual(["a", "b", "c"]);
    expect(w.pool.warm()).toEqual([warmOf("a")]);
  });

  it.each([
    { most: 4, jobs: 4, left: ["b", "a"] },
    { most: 2, jobs: 4, left: ["a"] },
    { most: 1, jobs: 2, left: ["a"] },
  ])("goes only when the room is needed: $jobs jobs, $most in a container", async (burst) => {
    w = world(3);
    for (const [index, name] of ["c", "b", "a"].entries()) {
      const { finish } = w.run(name);
      await w.running(index + 1);
      w.runs[index]?.end();
      await finish;
    }
    const limits = { max_concurrency: burst.most };
    for (let n = 0; n < burst.jobs; n++) void w.run("d", { limits });
    await w.running(3 + burst.jobs);
    expect(w.pool.warm()).toEqual(burst.left.map(warmOf));
  });

  it("is waited for when all are busy", async () => {
    const busy = [w.run("a"), w.run("b")];
    await w.running(2);
    const stop = signals();
    const waiting = w.run("c");
    const canceled = w.run("d", {}, stop);
    stop.abortCancel();
    expect(await canceled.finish).toMatchObject({ status: "canceled" });
    w.runs[0]?.end();
    await busy[0]?.finish;
    await w.running(3);
    expect(waiting.reporter.events).not.toEqual([]);
  });

  it("outlives what is over in it, whatever the end: nobody who is left suffers", async () => {
    const limits = { max_concurrency: 2 };
    const staying = w.run("a", { limits });
    const ends = [
      () => w.runs[1]?.fail(external("its file cannot be had")),
      () => w.runs[2]?.end(),
    ];
    for (const [index, end] of ends.entries()) {
      const stop = signals();
      const leaving = w.run("a", { limits }, stop);
      await w.running(index + 2);
      end();
      await leaving.finish;
      // As a job does that has told its prediction the end.
      stop.abortAbandon();
    }
    await vi.advanceTimersByTimeAsync(1_000);
    w.runs[0]?.end();
    expect(await staying.finish).toMatchObject({ status: "succeeded" });
    expect(w.started).toHaveLength(1);
  });

  it("is gone after a crash, and the next job gets a new one", async () => {
    const { finish } = w.run("a");
    await w.running(1);
    w.started[0]?.exit("exited with code 1");
    expect(await finish).toMatchObject({ status: "failed" });
    void w.run("a");
    await w.running(2);
    expect(w.started).toHaveLength(2);
  });

  it("is given up after three failures in a row, not after two and a success", async () => {
    const outcomes = [failure, failure, undefined, failure, failure, failure];
    for (const [index, finish] of outcomes.entries()) {
      const run = w.run("a");
      await w.running(index + 1);
      w.runs[index]?.end(finish ? { finish } : {});
      await run.finish;
      expect(w.started).toHaveLength(1);
    }
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([]));
    void w.run("a");
    await w.running(7);
    expect(w.started).toHaveLength(2);
  });

  it("is not given up for what says nothing against it, which hides no failures either", async () => {
    const excused = { finish: failure, notContainersFault: true };
    const failing = { finish: failure };
    const outcomes = [excused, excused, excused, failing, failing, excused, failing];
    for (const [index, outcome] of outcomes.entries()) {
      const run = w.run("a");
      await w.running(index + 1);
      w.runs[index]?.end(outcome);
      await run.finish;
      expect(w.started).toHaveLength(1);
    }
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([]));
  });

  it("is joined by nobody while it is not known whether it outlives a failure", async () => {
    for (const [index, verdict] of (["kept", "retired"] as const).entries()) {
      const first = w.run("a", { limits: { max_concurrency: 2 } });
      await w.running(3 * index + 1);
      const told = Promise.withResolvers<"kept" | "retired">();
      w.runs[3 * index]?.end({ finish: failure, verdict: told.promise });
      // Who called hears of it at once.
      await first.finish;
      expect(w.pool.warm()).toEqual([]);
      const next = [1, 2].map(() => w.run("a", { limits: { max_concurrency: 2 } }));
      await vi.advanceTimersByTimeAsync(1_000);
      expect(w.runs).toHaveLength(3 * index + 1);
      expect(w.started).toHaveLength(1);
      told.resolve(verdict);
      await w.running(3 * index + 3);
      expect(w.started).toHaveLength(index + 1);
      for (const run of w.runs.slice(3 * index + 1)) run.end();
      await Promise.all(next.map(({ finish }) => finish));
    }
    expect(await w.started[0]?.exited).toMatchObject({ description: "was stopped" });
  });

  it("makes room for another model while it is not known whether it outlives a failure", async () => {
    w = world(1);
    const first = w.run("a");
    await w.running(1);
    w.runs[0]?.end({ finish: failure, verdict: new Promise(() => {}) });
    await first.finish;
    void w.run("b");
    await w.running(2);
  });

  it("that refuses a run is left, and another one takes it", async () => {
    const first = w.run("a");
    await w.running(1);
    w.runs[0]?.end();
    await first.finish;
    const refused = { finish: failure, container: "retired", notAccepted: "refused" } as const;
    const second = w.run("a");
    await w.running(2);
    w.runs[1]?.end(refused);
    await w.running(3);
    expect(w.started).toHaveLength(2);
    // A new one that refuses is as the next would be.
    w.runs[2]?.end(refused);
    expect(await second.finish).toMatchObject({ status: "failed" });
  });

  it("that is full beside others fails the run, and one that is full of nobody is left", async () => {
    const limits = { max_concurrency: 2 };
    const full = { finish: failure, container: "retired", notAccepted: "full" } as const;
    const [first, second] = [w.run("a", { limits }), w.run("a", { limits })];
    await w.running(2);
    w.runs[1]?.end(full);
    expect(await second.finish).toMatchObject({ status: "failed" });
    w.runs[0]?.end();
    await first.finish;
    const third = w.run("a", { limits });
    await w.running(3);
    w.runs[2]?.end();
    await third.finish;
    const last = w.run("a", { limits });
    await w.running(4);
    w.runs[3]?.end(full);
    await w.running(5);
    expect(w.started).toHaveLength(3);
    w.runs[4]?.end();
    expect(await last.finish).toMatchObject({ status: "succeeded" });
  });

  it("is killed for a run that did not stop once its others have ended, and gets no other", async () => {
    const limits = { max_concurrency: 3 };
    const [deaf, other] = [w.run("a", { limits }), w.run("a", { limits })];
    await w.running(2);
    w.runs[0]?.end({ container: "killed" });
    await deaf.finish;
    const late = w.run("a", { limits });
    await w.running(3);
    expect(w.started).toHaveLength(2);
    w.runs[1]?.end();
    expect(await other.finish).toMatchObject({ status: "succeeded" });
    expect(await w.started[0]?.exited).toMatchObject({ description: "was killed" });
    w.runs[2]?.end();
    await late.finish;
  });

  it("is killed when its run did not stop", async () => {
    const { finish } = w.run("a");
    await w.running(1);
    w.runs[0]?.end({ container: "killed" });
    await finish;
    expect(await w.started[0]?.exited).toMatchObject({ description: "was killed" });
  });

  it("is not started for a job that was canceled while it was pulled", async () => {
    const release = w.hold();
    const stop = signals();
    const { reporter, finish } = w.run("a", {}, stop);
    await reporter.first("setup");
    stop.abortCancel();
    expect(await finish).toEqual({ status: "canceled", output: "none" });
    release();
    await vi.waitFor(() => expect(w.pool.warm()).toEqual([]));
    expect(w.started).toEqual([]);
  });
});

describe("fewer containers than jobs", () => {
  const limits = { max_concurrency: 4 };

  beforeEach(() => {
    w = world(1);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });

  const end = async (run: number, { finish }: { finish: Promise<unknown> }) => {
    w.runs[run]?.end();
    await finish;
  };

  it("are shared, and another model's jobs wait until one falls idle", async () => {
    const first = [w.run("a", { limits }), w.run("a", { limits })];
    await w.running(2);
    const other = w.run("b", { limits });
    const third = w.run("a", { limits });
    await w.running(3);
    expect(w.started).toHaveLength(1);
    for (const [index, run] of [...first, third].entries()) await end(index, run);
    await w.running(4);
    expect(w.started.map(({ launch }) => launch.image.repository)).toEqual(["a", "b"]);
    await end(3, other);
  });

  it("are joined by nobody before one who has waited for a minute", async () => {
    const first = w.run("a", { limits });
    await w.running(1);
    const other = w.run("b", { limits });
    await vi.advanceTimersByTimeAsync(61_000);
    const late = w.run("a", { limits });
    const stop = signals();
    const left = w.run("a", { limits }, stop);
    await vi.advanceTimersByTimeAsync(10);
    expect(w.runs).toHaveLength(1);
    stop.abortCancel();
    expect(await left.finish).toMatchObject({ status: "canceled" });
    await end(0, first);
    await w.running(2);
    expect(w.runs[1]?.container.launch.image.repository).toBe("b");
    await end(1, other);
    await w.running(3);
    expect(w.runs[2]?.container.launch.image.repository).toBe("a");
    await end(2, late);
  });

  it("are free again for all when that one has gone", async () => {
    const first = w.run("a", { limits });
    await w.running(1);
    const stop = signals();
    const other = w.run("b", { limits }, stop);
    await vi.advanceTimersByTimeAsync(61_000);
    const late = w.run("a", { limits });
    await vi.advanceTimersByTimeAsync(10);
    expect(w.runs).toHaveLength(1);
    stop.abortCancel();
    await other.finish;
    await w.running(2);
    expect(w.started).toHaveLength(1);
    await end(0, first);
    await end(1, late);
  });

  it("are given to those who wait in the order in which they came", async () => {
    const first = w.run("a");
    await w.running(1);
    const others = ["b", "c", "b"].map((name) => w.run(name));
    await end(0, first);
    for (const [index, run] of others.entries()) {
      await w.running(index + 2);
      await end(index + 1, run);
    }
    const order = w.runs.map(({ container }) => container.launch.image.repository);
    expect(order).toEqual(["a", "b", "c", "b"]);
  });
});

it("pull progress is summed up, never falls, and comes four times a second at most", () => {
  const reports: SetupProgress[] = [];
  let now = 0;
  const progress = new PullProgress(
    (report) => reports.push(report),
    () => now,
  );
  const add = (at: number, id: string, status: string, current?: number, total?: number) => {
    now = at;
    progress.add({ id, status, progressDetail: { current, total } });
  };
  add(0, "a", "Pulling fs layer");
  add(100, "a", "Downloading", 50, 100);
  add(300, "a", "Download complete");
  add(600, "b", "Downloading", 0, 300);
  add(900, "b", "Pull complete");
  add(1_200, "a", "Pull complete");
  expect(reports.map(({ progress: part }) => part)).toEqual([undefined, 0.5, 0.5, 0.875, 1]);
});

it.each([
  [30, 90, "0.1 of 0.1 kB"],
  [0, 2_300, "0.0 of 2.3 kB"],
  [400_000, 999_000, "400 of 999 kB"],
  [400_000, 1_200_000, "0.4 of 1.2 MB"],
  [4_000_000, 9_870_000, "4.0 of 9.9 MB"],
  [60_000_000, 8_123_400_000, "60 of 8123 MB"],
])("tells %i of %i bytes of a pull in their own unit", (current, total, words) => {
  const messages: (string | undefined)[] = [];
  const progress = new PullProgress(({ message }) => messages.push(message));
  progress.add({ id: "a", status: "Downloading", progressDetail: { current, total } });
  expect(messages).toEqual([`pulling the image: ${words}`]);
});

it("tells the size of the image to whoever has asked, and to nobody else", async () => {
  const asked = w.run("a", { measure: true });
  const unasked = w.run("b");
  await w.running(2);
  for (const run of w.runs) run.end();
  expect(await asked.finish).toMatchObject({ image_bytes: 1_234 });
  expect(await unasked.finish).not.toHaveProperty("image_bytes");
});
