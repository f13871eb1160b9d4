/** A store in a folder of its own, and a deployment that has weights, for the tests of weights. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import type { Log } from "../../../runner/src/lib/log.ts";
import { type MountedWeights, Weights } from "../../../runner/src/weights/weights.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { silent } from "./containers.ts";
import { GRANT, IMAGE, WeightServer } from "./weight-server.ts";

export const MIB = 1024 ** 2;
export const GB = 1024 ** 3;
/** The size of the ranges in which a store of the tests fetches files. */
const RANGE = 64 * 1024;
/** An eighth of a range, of which files are multiples. */
export const EIGHTH = RANGE / 8;

export let folder: string;
export let server: WeightServer;
let weights: Weights;

/** Starts a server and a store before each test of a file, and removes both afterwards. */
export function useWeights(): void {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "auspex-weights-"));
    server = await WeightServer.start();
    await restart();
  });
  afterEach(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Opens the store again, as the next process of the runner does. */
export async function restart(bytes = GB, options: RestartOptions = {}): Promise<void> {
  const { log = silent, rangeBytes = () => RANGE } = options;
  weights = new Weights({ directory: folder, bytes, url: server.url, rangeBytes }, log);
  await weights.start();
}

interface RestartOptions {
  log?: Log;
  rangeBytes?: (size: number) => number;
}

interface Options {
  key?: string;
  signal?: AbortSignal;
  grant?: string;
  reports?: SetupProgress[];
}

export function open(given: JobWeight[], options: Options = {}): Promise<MountedWeights> {
  const { key = "owner", signal = new AbortController().signal, grant = GRANT } = options;
  const keys = { container: "c", files: "f", weights: key };
  const request = { image: { ...IMAGE, grant }, keys, weights: given };
  return weights.open(request, (one) => options.reports?.push(one), signal);
}

/** Opens a weight whose fetch another one has begun. */
export async function joined(weight: JobWeight): Promise<{ opening: Promise<MountedWeights> }> {
  const reports: SetupProgress[] = [];
  const opening = open([weight], { reports });
  await expect.poll(() => reports.length).toBeGreaterThan(0);
  return { opening };
}

export const sourceOf = ({ mounts }: MountedWeights, target: string) =>
  mounts.find((mount) => mount.target === target)?.source ?? expect.fail(`nothing at ${target}`);

export const contentOf = (mounted: MountedWeights, target: string, path = ""): Buffer =>
  readFileSync(join(sourceOf(mounted, target), path));

/** Returns the files of the store whose names match. */
export const filesIn = (kind: RegExp) =>
  readdirSync(join(folder, "files"))
    .flatMap((account) => readdirSync(join(folder, "files", account)))
    .filter((name) => kind.test(name));
export const COMPLETE = /^[0-9a-f]{64}$/;
export const ON_ITS_WAY = /\.part$/;

/** Returns the path of the ranges that have arrived of the only partial file. */
export const notes = () => {
  const [account = ""] = readdirSync(join(folder, "files"));
  return join(folder, "files", account, (filesIn(ON_ITS_WAY)[0] ?? "").replace(".part", ".ranges"));
};
/** Returns the number of arrived ranges; the first line names the file. */
export const rangesThatCame = () => readFileSync(notes(), "utf8").split("\n").length - 2;

export const firstRange = (text: string) => Number(/bytes=(\d+)-/.exec(text)?.[1]);
