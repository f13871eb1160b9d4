/** What the process before this one has, as the ledger and the control plane know it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Inheritance } from "../../../runner/src/containers/inheritance.ts";
import { Ledger } from "../../../runner/src/devices/ledger.ts";
import type {
  HandedContainer,
  HeldContainer,
  PredecessorState,
} from "../../../runner/src/succession/messages.ts";
import { recordedLog } from "../support/docker-box.ts";

const ONE = { identifier: "l40s", gpus: 1 };

const held = (name: string, gpu: string): HeldContainer => ({
  state: {
    name,
    key: "k",
    image: "r@sha256:0",
    hardware: "l40s",
    gpus: 1,
    phase: "ready",
    phase_ms: 5,
    idle_ms: null,
    users: 1,
    room: 1,
    runs_ms: [5],
  },
  hardware: ONE,
  gpus: [gpu],
  id: `docker-${name}`,
});

const handed = (name: string): HandedContainer => ({
  name,
  key: "k",
  model: { owner: "ada", name: "hello", version_number: 1 },
  image: { repository: "r", digest: `sha256:${"a".repeat(64)}` },
  keys: { container: "k", files: "f" },
  interface: "cog",
  hardware: ONE,
  egress: "public",
  max_concurrency: 1,
  handle: { id: `docker-${name}`, address: "http://127.0.0.1:9" },
  token: "t",
  upload_url: "http://host.docker.internal:5001/x",
  image_bytes: 1,
  idle_ms: 1,
  has_run: true,
});

const state = (...containers: HeldContainer[]): PredecessorState => ({
  process: "p",
  ports: [5_001],
  running: [],
  containers,
  handed: [],
});

let ledger: Ledger;
beforeEach(() => {
  ledger = new Ledger({ containers: 4 });
  ledger.machine = { memory_bytes: 64e9, cpus: 16 };
  ledger.see(["g0", "g1"].map((id) => ({ id, index: id, name: "L40S", memory_gb: 45 })));
});

const holders = () => ledger.devices().map(({ holder }) => holder);

function inherit() {
  const [released, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const predecessor = {
    state: state(held("a", "g1")) as PredecessorState | undefined,
    onChange() {},
    onContainer: (_: HandedContainer) => {},
    released: () => released.promise,
    ended: ended.promise,
  };
  const did: string[] = [];
  const fails = { listening: false, sweeps: 0 };
  const adopted: [string, string[]][] = [];
  const onChange = vi.fn();
  const log = recordedLog();
  const inheritance = new Inheritance({
    ledger,
    predecessor,
    server: {
      listenAt: async (port) => {
        if (fails.listening) throw new Error("in use");
        did.push(`listens at ${port}`);
      },
      get ports() {
        return fails.listening ? [5_002] : [5_002, 5_001];
      },
    },
    engine: {
      letThrough: async (ports) => void did.push(`lets through ${ports}`),
      predecessorEnded: async (ids) => {
        if (fails.sweeps-- > 0) throw new Error("Docker is away");
        did.push(`spares ${ids}`, `held by ${holders()}`);
      },
    },
    inputs: { predecessorEnded: async () => void did.push("removes its files") },
    log,
    retire: (names) => void did.push(`retires ${names}`),
    adopt: ({ name }, { gpus }) => adopted.push([name, gpus.map(({ id }) => id)]),
    onChange,
  });
  const tell = (told: PredecessorState) => {
    predecessor.state = told;
    predecessor.onChange();
  };
  return { inheritance, predecessor, released, ended, did, fails, log, adopted, onChange, tell };
}

const never = new AbortController().signal;

afterEach(() => vi.restoreAllMocks());

test("its GPUs are taken, and given back one by one", () => {
  const { inheritance, tell, onChange } = inherit();
  expect(holders()).toEqual([null, "a"]);
  expect(inheritance.states()).toMatchObject([{ name: "a", phase: "stopping", runs_ms: [5] }]);
  expect(ledger.fits({ identifier: "l40s-x2", gpus: 2 })).toBe(false);
  tell(state(held("a", "g1"), held("b", "g0")));
  expect(holders()).toEqual(["b", "a"]);
  tell(state(held("b", "g0")));
  expect(holders()).toEqual(["b", null]);
  expect(onChange).toHaveBeenCalledTimes(3);
});

test("one that is handed on keeps its GPU, and is told once", () => {
  const { inheritance, predecessor, adopted, tell } = inherit();
  predecessor.onContainer(handed("a"));
  expect(adopted).toEqual([["a", ["g1"]]]);
  // It had been told before it was handed on.
  tell(state(held("a", "g1")));
  expect(inheritance.states()).toEqual([]);
  tell(state());
  expect(holders()).toEqual([null, "a"]);
});

test("what it may have left goes before its GPUs are given to others", async () => {
  const { inheritance, predecessor, released, ended, did, tell } = inherit();
  tell(state(held("a", "g1"), held("b", "g0")));
  predecessor.onContainer(handed("a"));
  const settled = inheritance.settled(never);
  released.resolve();
  await vi.waitFor(() => expect(did).toEqual(["listens at 5001", "lets through 5002,5001"]));
  predecessor.state = undefined;
  predecessor.onChange();
  expect(holders()).toEqual(["b", "a"]);
  ended.resolve();
  await settled;
  expect(did.slice(2)).toEqual(["spares docker-a", "held by b,a", "removes its files"]);
  expect(holders()).toEqual([null, "a"]);
  expect(inheritance.isPending).toBe(false);
});

test("a port that another program has: who calls there is replaced, and let through no more", async () => {
  const { inheritance, predecessor, released, ended, did, fails } = inherit();
  predecessor.onContainer(handed("a"));
  fails.listening = true;
  const settled = inheritance.settled(never);
  released.resolve();
  await vi.waitFor(() => expect(did).toEqual(["retires a", "lets through 5002"]), {
    timeout: 10_000,
  });
  ended.resolve();
  await settled;
});

test("GPUs are given back once what is left is gone, though Docker is restarted meanwhile", async () => {
  const { inheritance, predecessor, released, ended, did, fails, log, tell } = inherit();
  tell(state(held("a", "g1"), held("b", "g0")));
  fails.sweeps = 1;
  const settled = inheritance.settled(never);
  predecessor.state = undefined;
  released.resolve();
  ended.resolve();
  await vi.waitFor(() => expect(log.lines.join()).toMatch(/could not remove.*Docker is away/));
  expect(holders()).toEqual(["b", "a"]);
  await settled;
  expect(did).toContain("held by b,a");
  expect(holders()).toEqual([null, null]);
});
