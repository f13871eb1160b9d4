/** Images, indexes and artifacts that the conformance suite of OCI's distribution specification pushes. */
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { type Bytes, bytesOf, digestOf, randomBytes, sha512Of } from "./registry.ts";

export type Algorithm = "sha256" | "sha512";

export const EXAMPLE_TYPES = [
  "application/vnd.example.oci.conformance.v1",
  "application/vnd.example.oci.conformance.v2",
] as const;

const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";
const EMPTY_JSON = bytesOf("{}");

interface Described {
  mediaType: string;
  digest: string;
  size: number;
  [field: string]: unknown;
}

interface Options {
  tag?: string;
  layers?: Described[];
  layerCount?: number;
  config?: Described;
  /** Further fields of the manifest or index, and of the configuration. */
  extra?: object;
  artifactType?: string;
  annotations?: Record<string, string>;
  subject?: Described;
  /** Descriptors contain their content. */
  withData?: boolean;
}

export interface Manifest extends Described {
  text: string;
}

export const digestIn = async (algorithm: Algorithm, bytes: Bytes): Promise<string> =>
  algorithm === "sha512" ? sha512Of(bytes) : digestOf(bytes);

/** A set of blobs, manifests in their order, and tags to push. */
export class DataSet {
  readonly blobs = new Map<string, Bytes>();
  readonly manifests: Manifest[] = [];
  /** Digests by tag. */
  readonly tags = new Map<string, string>();
  /** Attached manifests by the digest of their subject. */
  readonly referrers = new Map<string, Described[]>();
  readonly #algorithm: Algorithm;

  constructor(algorithm: Algorithm = "sha256") {
    this.#algorithm = algorithm;
  }

  async blob(bytes: Bytes, mediaType: string, withData = false): Promise<Described> {
    const digest = await digestIn(this.#algorithm, bytes);
    this.blobs.set(digest, bytes);
    const data = { data: btoa(String.fromCharCode(...bytes)) };
    return { mediaType, digest, size: bytes.byteLength, ...(withData && data) };
  }

  layer = (mediaType: string = LAYER, withData = false) =>
    this.blob(randomBytes(300), mediaType, withData);

  emptyConfig = () => this.blob(EMPTY_JSON, MEDIA_TYPES.ociEmpty);

  async image(options: Options = {}): Promise<Manifest> {
    const { layers = [], layerCount = 2, extra, withData } = options;
    if (!options.layers)
      for (let n = 0; n < layerCount; n++) layers.push(await this.layer(LAYER, withData));
    const diff_ids = layers.map(({ digest }) => digest);
    const content = { architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids } };
    const text = JSON.stringify({ ...content, unique: crypto.randomUUID(), ...extra });
    const config =
      options.config ?? (await this.blob(bytesOf(text), MEDIA_TYPES.ociConfig, withData));
    const mediaType = MEDIA_TYPES.ociManifest;
    return this.#manifest({ mediaType, config, layers }, config.mediaType, options);
  }

  /** Adds an artifact: files with a type of their own. */
  async artifact(artifactType: string, options: Options = {}): Promise<Manifest> {
    const layers = options.layers ?? [await this.layer(artifactType)];
    return this.image({ ...options, artifactType, layers, config: await this.emptyConfig() });
  }

  async index(manifests: Described[], options: Options = {}): Promise<Manifest> {
    const platformed = manifests.map(({ mediaType, digest, size }, n) => ({
      mediaType,
      digest,
      size,
      platform: { os: "linux", architecture: n === 0 ? "amd64" : "arm64" },
    }));
    const mediaType = MEDIA_TYPES.ociIndex;
    return this.#manifest({ mediaType, manifests: platformed }, undefined, options);
  }

  /** Adds two images and the index that names them. */
  async multiPlatform(options: Options = {}): Promise<Manifest> {
    const { extra } = options;
    const images = [await this.image({ ...(extra && { extra }) }), await this.image()];
    return this.index(images, options);
  }

  async #manifest(
    content: { mediaType: string; [field: string]: unknown },
    configType: string | undefined,
    { tag, extra, artifactType, annotations, subject }: Options,
  ): Promise<Manifest> {
    const body = {
      schemaVersion: 2,
      ...content,
      ...(artifactType && { artifactType }),
      ...(annotations && { annotations }),
      ...(subject && { subject }),
      ...extra,
    };
    const text = JSON.stringify(body);
    const bytes = bytesOf(text);
    const { mediaType } = content;
    const digest = await digestIn(this.#algorithm, bytes);
    const made = { mediaType, digest, size: bytes.byteLength, text };
    this.manifests.push(made);
    if (tag !== undefined) this.tags.set(tag, digest);
    if (subject) {
      const type = artifactType ?? configType;
      const { text: _, ...descriptor } = made;
      const shown = {
        ...descriptor,
        ...(type && { artifactType: type }),
        ...(annotations && { annotations }),
      };
      this.referrers.set(subject.digest, [...(this.referrers.get(subject.digest) ?? []), shown]);
    }
    return made;
  }
}

export const descriptorOf = ({ mediaType, digest, size }: Described): Described => ({
  mediaType,
  digest,
  size,
});
