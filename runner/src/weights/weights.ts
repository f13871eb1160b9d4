/**
 * Weights that are not in the image: they are fetched, kept for the next container, and put together in a
 * folder for each container, which mounts it read-only.
 */
import { createHash } from "node:crypto";
import { chmod, link, mkdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { MAX_MANIFEST_BYTES } from "../../../src/protocol/oci.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { type JobWeight, overlapProblem, targetProblem } from "../../../src/protocol/weights.ts";
import { external, Failure, internal } from "../../../src/run/failure.ts";
import type { EvictionSource } from "../disk/evictable.ts";
import type { Mount, ReportProgress } from "../engines/engine.ts";
import { asDiskFailure } from "../files/cache-folder.ts";
import type { Log } from "../lib/log.ts";
import { ScratchFolders } from "../lib/scratch.ts";
import { AT_ONCE, type FetchContext, type RemoteFile, WeightFetcher } from "./fetch-weights.ts";
import { WeightProgress } from "./progress.ts";
import { rangeBytes } from "./range-plan.ts";
import type { FileSource } from "./range-request.ts";
import {
  MAX_CONFIGURATION_BYTES,
  MAX_FILES,
  parseManifest,
  readLayers,
  type WeightLayer,
} from "./weight-manifest.ts";
import {
  ENTRY_BYTES,
  type HeldFiles,
  type StoredWeight,
  type WantedFile,
  WeightStore,
} from "./weight-store.ts";

export interface WeightOptions {
  /** A directory that no other runner uses. */
  directory: string;
  /** The limit of all files in it. */
  bytes: number;
  url: string;
  /** Bytes of each range of a file; tests have smaller ranges, so that small files have several. */
  rangeBytes?: typeof rangeBytes;
}

export interface WeightsRequest extends Pick<Job, "image" | "keys"> {
  weights: readonly JobWeight[];
}

/** The weights of one container, until they are released. */
export interface MountedWeights {
  mounts: Mount[];
  /** The folder in which the weights are put together, if there are any. */
  folder?: string;
  release(): Promise<void>;
}

/** A weight, with the parts to fetch if they are missing. */
interface Plan {
  target: string;
  /** The files with their paths below the target; "" if the target is a file itself. */
  files: (WantedFile & { path: string })[];
  parts: Part[];
}

interface Part {
  /** Bytes to fetch. */
  size: number;
  isNeeded: () => boolean;
  /** Whether it takes room besides the files. */
  isSpare: boolean;
  fetch: (context: FetchContext) => Promise<void>;
}

export class Weights implements EvictionSource {
  readonly folder: string;
  readonly #url: string;
  readonly #store: WeightStore;
  readonly #fetcher: WeightFetcher;
  readonly #folders: ScratchFolders;

  constructor({ directory, bytes, url, ...options }: WeightOptions, log: Log) {
    this.folder = directory;
    this.#url = url;
    this.#store = new WeightStore(directory, bytes, log);
    this.#fetcher = new WeightFetcher(this.#store, options.rangeBytes ?? rangeBytes);
    this.#folders = new ScratchFolders(this.#store.folder.mounts);
  }

  /** To be called before the first container. @param adopted folders of adopted containers */
  async start(adopted: readonly string[] = []): Promise<void> {
    await this.#store.start();
    await this.#folders.sweep(adopted);
  }

  /** Returns the weights on the disk, for the code that makes room there. */
  async evictables(): Promise<StoredWeight[]> {
    return this.#store.list();
  }

  /** @throws Failure; the signal's reason */
  async open(
    request: WeightsRequest,
    report: ReportProgress,
    signal: AbortSignal,
  ): Promise<MountedWeights> {
    const { weights, keys } = request;
    checkTargets(weights.map(({ target }) => target));
    if (keys.weights === undefined) throw internal("the job has weights, but no key for them");
    const account = sha256(keys.weights);
    const plans: Plan[] = [];
    for (const weight of weights) {
      plans.push(await named(weight, () => this.#plan(weight, account, request, signal)));
    }
    const files = plans.flatMap(({ files }) => files);
    if (files.length > MAX_FILES)
      throw external(`the version's weights have more than ${MAX_FILES} files`);
    const ready = () => this.#ready(plans, account, report, signal);
    return ready().catch((error: unknown) => {
      if (!(error instanceof LostFile)) throw error;
      signal.throwIfAborted();
      return ready();
    });
  }

  /** @param folder of an adopted container, whose hard links keep the files in it */
  adopt(folder: string): MountedWeights {
    return { mounts: [], folder, release: () => removeFolder(folder) };
  }

  /** @throws LostFile; Failure; the signal's reason */
  async #ready(
    plans: Plan[],
    account: string,
    report: ReportProgress,
    signal: AbortSignal,
  ): Promise<MountedWeights> {
    const progress = new WeightProgress(report);
    const held = await this.#store.hold(account, () => demandOf(plans), {
      signal,
      onWait: () => progress.waiting(),
    });
    try {
      await fetchAll(plans, { held, progress, signal });
      return await this.#mount(plans, held);
    } catch (error) {
      held.release();
      throw error;
    }
  }

  #plan(weight: JobWeight, account: string, request: WeightsRequest, signal: AbortSignal) {
    if (weight.kind === "oci") return this.#planOfImage(weight, account, request, signal);
    const { target, id, url, size } = weight;
    const name = sha256(`file ${id}`);
    const file = { account, name, size, source: { url, headers: {} } };
    const part: Part = {
      size,
      isNeeded: () => this.#store.sizeOf(account, name) === undefined,
      isSpare: false,
      fetch: (context) => this.#fetcher.file(file, context),
    };
    return Promise.resolve({ target, files: [{ name, size, path: "" }], parts: [part] });
  }

  async #planOfImage(
    { target, manifest: digest }: Extract<JobWeight, { kind: "oci" }>,
    account: string,
    { image }: WeightsRequest,
    signal: AbortSignal,
  ): Promise<Plan> {
    const { repository, grant } = image;
    if (grant === undefined) throw internal("the job has no grant to read it with");
    const source = (kind: "manifests" | "blobs", digest: string): FileSource => ({
      url: `${this.#url}/v2/${repository}/${kind}/${digest}`,
      headers: { authorization: `Bearer ${grant}` },
    });
    const read = async (kind: "manifests" | "blobs", digest: string, max: number) => {
      const file = { account, name: hexOf(digest), source: source(kind, digest) };
      return (await this.#fetcher.small(file, max, signal)).toString();
    };
    const manifest = parseManifest(await read("manifests", digest, MAX_MANIFEST_BYTES));
    const { digest: listed } = manifest.config;
    const layers = readLayers(manifest, await read("blobs", listed, MAX_CONFIGURATION_BYTES));
    return {
      target,
      files: layers.flatMap(({ files }) =>
        files.map(({ path, size, digest }) => ({ path, size, name: hexOf(digest) })),
      ),
      parts: layers.map((layer) => this.#layerPart(layer, account, source("blobs", layer.digest))),
    };
  }

  #layerPart(layer: WeightLayer, account: string, source: FileSource): Part {
    const { size, digest, files } = layer;
    // Another manifest may list other files for the same layer: then they do not share the work.
    const name = sha256(JSON.stringify(["layer", digest, size, files]));
    const file: RemoteFile = { account, name, size, source };
    return {
      size,
      isNeeded: () =>
        files.some(({ digest }) => this.#store.sizeOf(account, hexOf(digest)) === undefined),
      isSpare: true,
      fetch: (context) => this.#fetcher.layer(layer, hexOf, file, context),
    };
  }

  /** The files are hard links: a file that the cache removes stays here, and takes no room twice. */
  async #mount(plans: Plan[], held: HeldFiles): Promise<MountedWeights> {
    const folder = await this.#folders.make();
    const release = async () => {
      await removeFolder(folder);
      held.release();
    };
    try {
      const mounts: Mount[] = [];
      for (const [n, { target, files }] of plans.entries()) {
        const source = join(folder, String(n));
        mounts.push({ source, target });
        for (const file of files) await linkFile(held, file, source);
      }
      return { mounts, folder, release };
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }
}

/** Ignores errors: a folder that cannot be removed now is removed when the runner starts again. */
const removeFolder = (folder: string) =>
  rm(folder, { recursive: true, force: true }).catch(() => {});

/** Everything that the weights are made of, and room for the layers that are unpacked at once. */
function demandOf(plans: Plan[]) {
  const files = plans.flatMap(({ files }) => files);
  const layers = plans
    .flatMap(({ parts }) => parts)
    .filter(({ isSpare, isNeeded }) => isSpare && isNeeded())
    .map(({ size }) => size)
    .sort((a, b) => b - a);
  const spare = layers.slice(0, AT_ONCE).reduce((sum, size) => sum + size + ENTRY_BYTES, 0);
  return { files, spare };
}

async function fetchAll(plans: Plan[], context: FetchContext): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const needed = plans.flatMap((plan) =>
    plan.parts.filter(({ isNeeded }) => isNeeded()).map((part) => ({ plan, part })),
  );
  for (const { part } of needed) context.progress.expect(part.size);
  // All parts end before the files are released.
  await Promise.all(
    needed.map(({ plan, part }) =>
      named(plan, () => part.fetch({ ...context, signal })).catch((error: unknown) =>
        failed.abort(error),
      ),
    ),
  );
  signal.throwIfAborted();
}

/** A stored file is missing or incomplete: another program has changed the disk, or the disk fails. */
class LostFile extends Failure {
  constructor() {
    super("internal", "the runner's weights have been removed from its disk: try again");
  }
}

/** @throws LostFile, once it is out of the cache; Failure */
async function linkFile(
  held: HeldFiles,
  { name, size, path }: Plan["files"][number],
  root: string,
): Promise<void> {
  const to = path === "" ? root : join(root, path);
  try {
    if (path !== "") await makeFolders(root, dirname(path));
    await link(held.path(name), to);
    if ((await stat(to)).size === size) return;
  } catch (error) {
    const isLost = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isLost) throw asDiskFailure(error);
  }
  held.lost(name);
  throw new LostFile();
}

/** The folders are readable by any user of the container, whatever this process's umask is. */
async function makeFolders(root: string, path: string): Promise<void> {
  let folder = root;
  for (const part of ["", ...path.split("/")]) {
    folder = join(folder, part === "." ? "" : part);
    const made = await mkdir(folder).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "EEXIST") return false;
        throw error;
      },
    );
    if (made) await chmod(folder, 0o755);
  }
}

/** @throws Failure */
function checkTargets(targets: string[]): void {
  for (const target of targets) {
    const problem = targetProblem(target);
    if (problem)
      throw external(`the weights cannot be mounted at ${JSON.stringify(target)}: ${problem}`);
  }
  const problem = overlapProblem(targets);
  if (problem) throw external(`the weights cannot be mounted: ${problem}`);
}

/** Says which weights a failure is about. */
async function named<T>({ target }: { target: string }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { source, message, ofMachine } = error;
    throw new Failure(source, `the weights at ${target}: ${message}`, { cause: error, ofMachine });
  }
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const hexOf = (digest: string) => digest.slice("sha256:".length);
