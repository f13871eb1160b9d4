// A real registry on loopback, which Docker accepts without TLS, so that tests pull by digest what they
// pushed. The registry is Debian's docker-registry; base.sh makes the base image.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  appendFile,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { manifest } from "../../src/protocol/oci.ts";
import { freePort } from "../processes/free-port.ts";
import { copyModel } from "../support/models.ts";

const run = promisify(execFile);
const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const base = fileURLToPath(new URL("base.sh", import.meta.url));

export interface Pushed {
  /** The image's name without its digest: `localhost:PORT/owner/name`. */
  repository: string;
  digest: string;
}

export interface Manifest {
  digest: string;
  /** Digests of the layers, from the base up. */
  layers: string[];
}

export interface Registry {
  /** `localhost:PORT` */
  host: string;
  /**
   * Builds an example, pushes it as `owner/name` and removes it from Docker.
   * @param lines more for its Dockerfile
   */
  push(name: string, owner?: string, lines?: string): Promise<Pushed>;
  /** Pushes Docker's image with the name `localhost:PORT/` and this path. @returns its manifest */
  send(path: string): Promise<Manifest>;
  /** Stops the registry. Removes from Docker all images that were pushed here or pulled from here. */
  stop(): Promise<void>;
}

/**
 * Docker looks for a cached layer among all images of the same parent, and gives up a build if one of them is
 * removed meanwhile, as other test files do.
 */
const LOST_A_SIBLING = "unable to find image";
const BUILD_TRIES = 5;

/** Runs the docker client and returns what it printed. */
export async function docker(...args: string[]): Promise<string> {
  // Debian's docker.io does not have BuildKit's plugin.
  const env = { ...process.env, DOCKER_BUILDKIT: "0" };
  for (let tries = 1; ; tries++) {
    try {
      const { stdout } = await run("docker", args, { env });
      return stdout.trim();
    } catch (error) {
      const isRace = args[0] === "build" && String(error).includes(LOST_A_SIBLING);
      if (!isRace || tries === BUILD_TRIES) throw error;
    }
  }
}

let made: Promise<unknown> | undefined;

/** Builds node:24-slim if it cannot be pulled. */
export function makeBase(): Promise<unknown> {
  made ??= run(base);
  return made;
}

/**
 * Builds an example with its own Dockerfile and returns the tag.
 * @param lines more for that file
 */
export async function buildExample(
  name: string,
  tag = `auspex-test/${name}`,
  lines = "",
): Promise<string> {
  await makeBase();
  const context = await mkdtemp(join(tmpdir(), "auspex-context-"));
  try {
    await copyModel(name, context);
    await installDependencies(context);
    await appendFile(join(context, "Dockerfile"), lines);
    await docker("build", "--quiet", "--tag", tag, context);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  return tag;
}

/**
 * Copies the dependencies of a folder from the repository's node_modules, as `npm install` would fetch them.
 */
async function installDependencies(folder: string): Promise<void> {
  const wanted = [folder];
  const installed = new Set<string>();
  for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
    const text = await readFile(join(next, "package.json"), "utf8").catch(() => "{}");
    const { dependencies, optionalDependencies } = JSON.parse(text);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      // Most optional dependencies are for other platforms, and not installed.
      if (installed.has(name) || !existsSync(join(modules, name))) continue;
      installed.add(name);
      await cp(join(modules, name), join(folder, "node_modules", name), { recursive: true });
      wanted.push(join(modules, name));
    }
  }
}

export async function startRegistry(): Promise<Registry> {
  const folder = await mkdtemp(join(tmpdir(), "auspex-registry-"));
  const port = await freePort();
  const host = `localhost:${port}`;
  const config = join(folder, "config.yml");
  const data = join(folder, "data");
  await writeFile(config, configuration(port, data));
  const child = spawn("docker-registry", ["serve", config], { stdio: "ignore" });

  async function stop(): Promise<void> {
    if (isRunning(child)) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    await rm(folder, { recursive: true, force: true });
    await removeImages(host);
  }

  async function push(name: string, owner = "examples", lines = ""): Promise<Pushed> {
    const path = `${owner}/${name}`;
    const repository = `${host}/${path}`;
    await buildExample(name, repository, lines);
    try {
      return { repository, digest: (await send(path)).digest };
    } finally {
      await docker("image", "rm", repository);
    }
  }

  async function send(path: string): Promise<Manifest> {
    await giveBaseLayer(data, path);
    await docker("push", "--quiet", `${host}/${path}`);
    const sent = await manifestOf(port, path);
    await keepBaseLayer(data, sent.layers[0] ?? "");
    return sent;
  }

  try {
    await ready(child, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { host, push, send, stop };
}

/**
 * Removes images by reference instead of ID: the same image may be in use under the name of another registry.
 */
async function removeImages(host: string): Promise<void> {
  const format = "{{.Repository}}:{{.Tag}} {{.Repository}}@{{.Digest}}";
  const listed = await docker("images", "--digests", "--format", format, `${host}/*/*`);
  const references = new Set(listed.split(/\s+/).filter((one) => /^[^<]+$/.test(one)));
  // One call for all, as each call takes 0.1 s of a processor. Removing the last tag of an image removes its digest,
  // too, which is no error with --force.
  if (references.size > 0) await docker("image", "rm", "--force", ...references);
}

function configuration(port: number, root: string): string {
  return JSON.stringify({
    version: 0.1,
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: root } },
    http: { addr: `127.0.0.1:${port}` },
  });
}

/** Returns the manifest of the newest image of a repository. */
async function manifestOf(port: number, path: string): Promise<Manifest> {
  const response = await fetch(`http://127.0.0.1:${port}/v2/${path}/manifests/latest`, {
    headers: { accept: "application/vnd.docker.distribution.manifest.v2+json" },
  });
  const digest = response.headers.get("docker-content-digest");
  if (!response.ok || digest === null) throw new Error(`No ${path} in the registry`);
  const { layers } = manifest.parse(await response.json());
  return { digest, layers: layers.map((layer) => layer.digest) };
}

async function ready(child: ChildProcess, port: number): Promise<void> {
  let failure = new Error("docker-registry did not answer within 10 s");
  child.on("error", (error) => {
    failure = error;
  });
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline && isRunning(child)) {
    const answered = await fetch(`http://127.0.0.1:${port}/v2/`).catch(() => undefined);
    if (answered?.ok) return;
    await sleep(20);
  }
  throw failure;
}

/** Whether a child process runs. One that could not be started has no process ID. */
function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

const KEPT = fileURLToPath(new URL("../../node_modules/.cache/base-layer", import.meta.url));
const NAME = /^[0-9a-f]{64}$/;
const REGISTRY = "docker/registry/v2";

/** Puts the layer into a repository before an image is pushed to it. @param root of the registry's files */
async function giveBaseLayer(root: string, repository: string): Promise<void> {
  for (const hex of await kept()) {
    const link = join(REGISTRY, "repositories", repository, "_layers/sha256", hex, "link");
    await place(join(KEPT, hex), join(root, dataOf(hex)));
    await mkdir(dirname(join(root, link)), { recursive: true });
    await writeFile(join(root, link), `sha256:${hex}`);
  }
}

/** Keeps the lowest layer of an image that was pushed, and no other. @param digest of the layer */
async function keepBaseLayer(root: string, digest: string): Promise<void> {
  const hex = digest.replace("sha256:", "");
  for (const other of await kept()) if (other !== hex) await rm(join(KEPT, other), { force: true });
  await place(join(root, dataOf(hex)), join(KEPT, hex));
}

const kept = async () => (await readdir(KEPT).catch(() => [])).filter((name) => NAME.test(name));

const dataOf = (hex: string) => join(REGISTRY, "blobs/sha256", hex.slice(0, 2), hex, "data");

/** Places a file as a whole, unless it is there: other test files place it, too. */
async function place(from: string, to: string): Promise<void> {
  if (await stat(to).catch(() => undefined)) return;
  await mkdir(dirname(to), { recursive: true });
  const unfinished = `${to}.${process.pid}`;
  await copyFile(from, unfinished);
  await rename(unfinished, to);
}
