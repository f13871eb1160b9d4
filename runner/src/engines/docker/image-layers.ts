/**
 * The layers of an image of the deployment's own registry, read before the image is pulled: they say how
 * much room it needs.
 */
import { z } from "zod";
import {
  index,
  kindOf,
  MAX_CONFIG_BYTES,
  MAX_MANIFEST_BYTES,
  MEDIA_TYPES,
  manifest,
} from "../../../../src/protocol/oci.ts";
import type { Image } from "../../../../src/protocol/runner.ts";
import { HttpClient } from "../../lib/http-client.ts";
import type { OwnRegistry } from "./own-registry.ts";

export interface Layer {
  /** The digest of the compressed layer; Docker's progress names a layer by the first 12 digits. */
  digest: string;
  size: number;
  /** The digest of the unpacked layer. */
  diffId: string;
}

export interface ImageLayers {
  os: string;
  architecture: string;
  layers: Layer[];
}

const config = z.object({
  os: z.string(),
  architecture: z.string(),
  rootfs: z.object({ diff_ids: z.array(z.string()) }),
});

const TIMEOUT_MS = 30_000;
const { ociManifest, ociIndex, dockerManifest, dockerIndex } = MEDIA_TYPES;
const ACCEPT = [ociManifest, dockerManifest, ociIndex, dockerIndex].join(", ");
/** Node's names of architectures, where Docker's differ. */
const ARCHITECTURES: Record<string, string> = { x64: "amd64" };

/** @throws Error when the registry does not answer, or with something else */
export async function readLayers(
  registry: OwnRegistry,
  image: Image,
  signal: AbortSignal,
): Promise<ImageLayers> {
  const http = new HttpClient(registry.url, 1);
  const headers: Record<string, string> = { accept: ACCEPT };
  if (image.grant !== undefined) headers.authorization = `Bearer ${image.grant}`;
  const get = async (path: string, maxBytes: number) => {
    const call = { method: "GET", headers, timeoutMs: TIMEOUT_MS, maxBytes, signal } as const;
    const answer = await http.call(`/v2/${image.repository}/${path}`, call);
    if (answer.status !== 200) throw new Error(`the registry answered ${answer.status} to ${path}`);
    const body: unknown = JSON.parse(answer.body);
    return { type: answer.headers["content-type"] ?? "", body };
  };
  const manifestAt = async (digest: string): Promise<z.infer<typeof manifest>> => {
    const { type, body } = await get(`manifests/${digest}`, MAX_MANIFEST_BYTES);
    if (kindOf(type) !== "index") return manifest.parse(body);
    return manifestAt(ownPlatform(index.parse(body)));
  };
  try {
    const { layers, config: described } = await manifestAt(image.digest);
    const { body } = await get(`blobs/${described.digest}`, MAX_CONFIG_BYTES);
    const { os, architecture, rootfs } = config.parse(body);
    if (rootfs.diff_ids.length !== layers.length)
      throw new Error("the image's configuration does not match its layers");
    const joined = layers.map(({ digest, size }, at) => {
      return { digest, size, diffId: rootfs.diff_ids[at] ?? "" };
    });
    return { os, architecture, layers: joined };
  } finally {
    http.close();
  }
}

function ownPlatform({ manifests }: z.infer<typeof index>): string {
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const own = manifests.find(
    ({ platform }) => platform?.os === "linux" && platform.architecture === architecture,
  );
  if (own) return own.digest;
  throw new Error(`the index has no image for linux/${architecture}`);
}

/**
 * Returns the compressed bytes of the layers that no local image has: images share a layer with all below it.
 */
export function missingBytes(layers: readonly Layer[], local: readonly string[][]): number {
  const present = (diffIds: readonly string[]) => {
    const differs = layers.findIndex(({ diffId }, at) => diffIds[at] !== diffId);
    return differs === -1 ? layers.length : differs;
  };
  const most = Math.max(0, ...local.map(present));
  return layers.slice(most).reduce((sum, { size }) => sum + size, 0);
}
