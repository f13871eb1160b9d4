/** Pulls images by their digest, and reports the progress. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type Dockerode from "dockerode";
import { z } from "zod";
import { parseJson } from "../../../../src/lib/json.ts";
import { retry } from "../../../../src/lib/retry.ts";
import type { DiskSpace } from "../../disk/disk-space.ts";
import { roomToPull } from "../../disk/evictable.ts";
import { messageOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import { type ImageRequest, type ReportProgress, referenceOf } from "../engine.ts";
import { ignoreStatus } from "./errors.ts";
import { NO_MANIFEST, noManifest, type PulledImage, pullFailure, tooLarge } from "./failures.ts";
import { type ImageLayers, type Layer, missingBytes, readLayers } from "./image-layers.ts";
import { LayerKeeper } from "./layer-keeper.ts";
import { isOwnImage, noRegistry, type OwnRegistry } from "./own-registry.ts";
import { followLines, type ProgressLine, PullProgress } from "./pull-progress.ts";

const RETRY = { attempts: 4, baseMs: 1_000, maxMs: 8_000 };

const SERVER_ERROR = /unexpected HTTP status: 500/i;

interface ImagePullerOptions {
  docker: Dockerode;
  runner: string;
  /** The deployment's own. */
  registry: OwnRegistry | undefined;
  /** Undefined if images are not removed to make room. */
  room: PullRoom | undefined;
  dropsLayers: boolean;
  log: Log;
}

interface Pull extends PulledImage {
  /** As Docker has it. */
  reference: string;
  credentials: Dockerode.AuthConfigObject;
  onLine: (line: ProgressLine) => void;
  signal: AbortSignal;
}

export class ImagePuller {
  readonly #options: ImagePullerOptions;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
  }

  async pull(request: ImageRequest, report: ReportProgress, signal: AbortSignal): Promise<void> {
    const layers = await this.#readLayers(request, signal);
    if (layers) await this.#options.room?.makeFor(layers.layers, signal);
    const image = await this.#identify(request);
    const keeper = layers && this.#keeper(image.reference, layers);
    const attempt = () => {
      const progress = new PullProgress(report, layers?.layers);
      const onLine = (line: ProgressLine) => {
        progress.add(line);
        keeper?.add(line);
      };
      return this.#attempt({ ...image, onLine, signal });
    };
    try {
      await this.#untilDone(image, attempt, signal);
    } finally {
      await keeper?.settled();
    }
    await keeper?.release();
  }

  /** Returns the image's reference, its name for messages, and the registry's host and credentials. */
  async #identify({ image, model }: ImageRequest): Promise<Omit<Pull, "onLine" | "signal">> {
    if (!isOwnImage(image)) {
      const reference = referenceOf(image);
      const credentials = await credentialsFor(image.repository);
      return { reference, name: reference, ownHost: undefined, credentials };
    }
    const { registry } = this.#options;
    if (!registry) throw noRegistry();
    return {
      reference: registry.localReference(image),
      name: `${model.owner}/${model.name}@${image.digest}`,
      ownHost: registry.host,
      credentials: registry.credentials(image),
    };
  }

  /** Retries transient errors; and once more if the disk was full and has room now. */
  async #untilDone(
    image: Omit<Pull, "onLine" | "signal">,
    attempt: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const tries = async () => {
      await retry(attempt, {
        ...RETRY,
        signal,
        isRetryable: (error) => {
          const { final, diskFull } = pullFailure(image, error);
          return !signal.aborted && !final && !diskFull;
        },
        onRetry: (error, delayMs) =>
          this.#options.log.warn("a pull was interrupted, retrying", {
            image: image.name,
            error: messageOf(error),
            retry_ms: Math.round(delayMs),
          }),
      });
    };
    try {
      await tries().catch(async (error: unknown) => {
        signal.throwIfAborted();
        const isFull = pullFailure(image, error).diskFull;
        if (!isFull || !(await this.#options.room?.makeAll(signal))) throw error;
        await tries();
      });
    } catch (error) {
      signal.throwIfAborted();
      const { failure, final, diskFull } = pullFailure(image, error);
      if (final) throw failure;
      if (diskFull && (await this.#options.room?.isMostlyFree())) throw tooLarge(image, error);
      throw (await this.#isUnknownDigest(image, error, signal)) ? noManifest(image) : failure;
    }
  }

  /**
   * Docker's own registry responds with 500 to the digest of something other than an image, such as
   * an image's id. A registry that reports an unknown digest correctly works, so the error is about
   * this digest.
   */
  async #isUnknownDigest(
    image: Omit<Pull, "onLine" | "signal">,
    error: unknown,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (image.ownHost !== undefined || !SERVER_ERROR.test(messageOf(error))) return false;
    const [repository = ""] = image.reference.split("@");
    const reference = `${repository}@sha256:${"0".repeat(64)}`;
    const nothing = { ...image, reference, onLine: () => {}, signal };
    const answer = await this.#attempt(nothing).catch(messageOf);
    signal.throwIfAborted();
    return answer !== undefined && NO_MANIFEST.test(answer);
  }

  async #attempt({ reference, credentials, onLine, signal }: Pull): Promise<void> {
    const { docker } = this.#options;
    const options = { authconfig: credentials, abortSignal: signal };
    await followLines(await docker.pull(reference, options), onLine);
  }

  #keeper(reference: string, image: ImageLayers): LayerKeeper | undefined {
    const { docker, runner, dropsLayers, log } = this.#options;
    if (!dropsLayers) return undefined;
    return new LayerKeeper({ docker, runner, reference, image, log });
  }

  /** Undefined for images of other registries, which have logins of many kinds. */
  async #readLayers(
    { image }: ImageRequest,
    signal: AbortSignal,
  ): Promise<ImageLayers | undefined> {
    const { registry, log } = this.#options;
    if (!registry || !isOwnImage(image)) return undefined;
    try {
      return await readLayers(registry, image, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The failure is only logged: the pull itself fails if something is wrong.
      const fields = { image: referenceOf(image), error: messageOf(error) };
      log.debug("could not read the contents of an image", fields);
      return undefined;
    }
  }
}

const HUB = "https://index.docker.io/v1/";

const configuration = z.object({
  auths: z.record(z.string(), z.object({ auth: z.string().optional() })).default({}),
});

/**
 * Reads the credentials that `docker login` has stored for a registry, because Docker's socket does not read
 * them. Credential helpers are not supported.
 */
export async function credentialsFor(repository: string): Promise<Dockerode.AuthConfigObject> {
  const folder = process.env.DOCKER_CONFIG ?? join(homedir(), ".docker");
  const text = await readFile(join(folder, "config.json"), "utf8").catch(() => "{}");
  const { auths } = configuration.catch({ auths: {} }).parse(parseJson(text));
  const registry = registryOf(repository);
  const encoded = auths[registry]?.auth ?? auths[`https://${registry}`]?.auth;
  if (!encoded) return {};
  const [username = "", ...rest] = Buffer.from(encoded, "base64").toString().split(":");
  return { username, password: rest.join(":"), serveraddress: registry };
}

/** The first part is a registry if it looks like a host; otherwise the image is on Docker Hub. */
function registryOf(repository: string): string {
  const [first = "", ...rest] = repository.split("/");
  if (rest.length === 0 || first === "docker.io") return HUB;
  return /[.:]/.test(first) || first === "localhost" ? first : HUB;
}

export class PullRoom {
  readonly #docker: Dockerode;
  readonly #disk: DiskSpace;
  readonly #log: Log;

  constructor(docker: Dockerode, disk: DiskSpace, log: Log) {
    this.#docker = docker;
    this.#disk = disk;
    this.#log = log;
  }

  /**
   * Makes room for an image with these layers. The image is pulled in any case, since its size is an
   * estimate.
   */
  async makeFor(layers: readonly Layer[], signal: AbortSignal): Promise<void> {
    await this.#make(signal, async () => {
      if (await this.#disk.hasRoom(roomToPull(missingBytes(layers, [])))) return 0;
      return roomToPull(missingBytes(layers, await this.#localLayers()));
    });
  }

  /** For an image that found the disk full. @returns whether there is more now */
  makeAll(signal: AbortSignal): Promise<boolean> {
    return this.#make(signal, async () => Number.POSITIVE_INFINITY);
  }

  /** Whether the disk is mostly free, so that an image that does not fit is too large for it. */
  isMostlyFree(): Promise<boolean> {
    return this.#disk.isMostlyFree().catch(() => false);
  }

  async #make(signal: AbortSignal, needed: () => Promise<number>): Promise<boolean> {
    try {
      return await this.#disk.makeRoom(await needed(), "space needed for an image", signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn("could not make room for an image", { error: messageOf(error) });
      return false;
    }
  }

  async #localLayers(): Promise<string[][]> {
    const images = await this.#docker.listImages();
    const inspected = await Promise.all(
      images.map(({ Id }) => ignoreStatus([404], this.#docker.getImage(Id).inspect())),
    );
    return inspected.map((one) => one?.RootFS.Layers ?? []);
  }
}
