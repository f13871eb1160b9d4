/** Weights from a real deployment: pushed and uploaded, and fetched as jobs describe them. */
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ControlPlane } from "../../runner/src/control-plane/client.ts";
import { Weights } from "../../runner/src/weights/weights.ts";
import { model, version } from "../../src/protocol/model.ts";
import { MEDIA_TYPES } from "../../src/protocol/oci.ts";
import { newToken } from "../../src/protocol/operator.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { type Job, RUNNER_PROTOCOL } from "../../src/protocol/runner.ts";
import { runnerSnapshot } from "../protocol/runner-snapshot.ts";
import { silent } from "../runner/support/containers.ts";
import { packLayer } from "../runner/support/weight-server.ts";
import { USERNAME } from "./support/access.ts";
import { uploadFile } from "./support/upload-file.ts";
import { World } from "./support/world.ts";

const MIB = 1024 ** 2;
const NAME = "weighed";
const HARDWARE = "scales";
const { signal } = new AbortController();

let world: World;
let folder: string;

beforeAll(async () => {
  world = await World.open();
  folder = mkdtempSync(join(tmpdir(), "auspex-weights-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await world.close();
});

const digestOf = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** Sends a request to the registry. */
async function send(method: string, path: string, body?: Buffer, type?: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${world.access.token}`,
    "content-type": type ?? "application/octet-stream",
  };
  const url = new URL(path, world.access.url);
  const response = await fetch(url, {
    method,
    headers,
    ...(body && { body: Uint8Array.from(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return response;
}

async function pushBlob(bytes: Buffer): Promise<{ digest: string; size: number }> {
  const digest = digestOf(bytes);
  const begun = await send("POST", `/v2/${USERNAME}/${NAME}/blobs/uploads/`);
  await send("PUT", `${begun.headers.get("location")}?digest=${digest}`, bytes);
  return { digest, size: bytes.length };
}

async function pushManifest(tag: string, content: { mediaType: string; [name: string]: unknown }) {
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, ...content }));
  await send("PUT", `/v2/${USERNAME}/${NAME}/manifests/${tag}`, bytes, content.mediaType);
  return { mediaType: content.mediaType, digest: digestOf(bytes), size: bytes.length };
}

const textOf = (value: unknown) => Buffer.from(JSON.stringify(value));

/** Pushes an image, a weight of two layers, and the index of both, as `cog push` does. */
async function pushBundle(files: { small: Record<string, Buffer>; large: Record<string, Buffer> }) {
  const layers = [
    packLayer({ compression: "gzip", files: files.small }),
    packLayer({ files: files.large }),
  ];
  const listed = layers.flatMap(({ digest, files }) =>
    files.map((file) => ({ ...file, layer: digest })),
  );
  const described = [];
  for (const { bytes, mediaType } of layers)
    described.push({ mediaType, ...(await pushBlob(bytes)) });
  const weight = await pushManifest("cog-weight.base", {
    mediaType: MEDIA_TYPES.ociManifest,
    artifactType: MEDIA_TYPES.cogWeight,
    config: {
      mediaType: MEDIA_TYPES.cogWeightConfig,
      ...(await pushBlob(textOf({ files: listed }))),
    },
    layers: described,
    annotations: { "run.cog.weight.target": "/src/weights" },
  });
  const image = await pushManifest("cog-image", {
    mediaType: MEDIA_TYPES.ociManifest,
    config: {
      mediaType: MEDIA_TYPES.ociConfig,
      ...(await pushBlob(textOf({ architecture: "amd64", os: "linux", config: {} }))),
    },
    layers: [],
  });
  const platform = { architecture: "amd64", os: "linux" };
  const annotations = { "run.cog.weight.name": "base" };
  const manifests = [
    { ...image, platform },
    { ...weight, artifactType: MEDIA_TYPES.cogWeight, annotations },
  ];
  await pushManifest("latest", { mediaType: MEDIA_TYPES.ociIndex, manifests });
}

/** Returns the job of a new prediction, as a runner gets it. */
async function claim(): Promise<Job> {
  const body = { model: `${USERNAME}/${NAME}`, input: {} };
  await world.client.call(predictionWithIO, "POST", "/predictions", { body });
  const made = { body: { name: "scales", hardware: [HARDWARE] } };
  const { token } = await world.operator.call(newToken, "POST", "/operator/runner_tokens", made);
  const controlPlane = new ControlPlane({ url: world.access.url, token });
  const machine = { cpus: 1, memory_gb: 1, gpus: [] };
  const runner = { name: "scales", hardware: [HARDWARE], version: "0", engine: "docker" as const };
  const session = await controlPlane.register(
    { protocol: RUNNER_PROTOCOL, slots: 1, machine, ...runner },
    signal,
  );
  const { runner_id, session: id, pool } = session;
  const claim = { runner_id, session: id, pool, images: [], snapshot: runnerSnapshot() };
  const {
    jobs: [job],
  } = await controlPlane.claim(claim, 30, signal);
  return job ?? expect.fail("no job");
}

it("a job has the files and Cog's weights, which arrive unchanged", async () => {
  await world.operator.fetch("PUT", `/operator/hardware/${HARDWARE}`, { body: { name: "Scales" } });
  await world.client.call(model, "POST", "/models", {
    body: { name: NAME, hardware_identifier: HARDWARE },
  });
  const [config, large, file] = [Buffer.from("{}"), randomBytes(12 * MIB), randomBytes(20 * MIB)];
  await pushBundle({ small: { "config.json": config }, large: { "model/large.bin": large } });
  const path = join(folder, "file.bin");
  writeFileSync(path, file);
  const weights = [{ target: "/models/file.bin", file: await uploadFile(world.client, path) }];
  await world.client.call(version, "POST", `/models/${USERNAME}/${NAME}/versions`, {
    body: {
      release_notes: "",
      image: "latest",
      schemas: { prediction: { input: {}, output: {} } },
      configuration: { weights },
    },
  });
  const { image, keys, weights: given = [] } = await claim();
  const store = new Weights({ directory: folder, bytes: 200 * MIB, url: world.access.url }, silent);
  await store.start();
  const mounted = await store.open({ image, keys, weights: given }, () => {}, signal);
  const contentOf = (target: string, path = "") => {
    const mount = mounted.mounts.find((one) => one.target === target);
    return readFileSync(join(mount?.source ?? expect.fail(target), path));
  };
  expect(contentOf("/models/file.bin").equals(file)).toBe(true);
  expect(contentOf("/src/weights", "config.json").equals(config)).toBe(true);
  expect(contentOf("/src/weights", "model/large.bin").equals(large)).toBe(true);
  await mounted.release();
});
