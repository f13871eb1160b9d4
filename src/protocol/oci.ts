/**
 * The documents that clients push to a registry: manifests, indexes and image configurations, of OCI's image
 * specification 1.1 and of Docker's second schema. Parsing drops unknown fields: the bytes are stored
 * and served as they came. Go's encoders write null for an empty list or map.
 */
import { z } from "zod";

export const MEDIA_TYPES = {
  ociManifest: "application/vnd.oci.image.manifest.v1+json",
  ociIndex: "application/vnd.oci.image.index.v1+json",
  ociConfig: "application/vnd.oci.image.config.v1+json",
  ociEmpty: "application/vnd.oci.empty.v1+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
  dockerIndex: "application/vnd.docker.distribution.manifest.list.v2+json",
  dockerConfig: "application/vnd.docker.container.image.v1+json",
  /** As `artifactType`: files of Cog's managed weights. */
  cogWeight: "application/vnd.cog.weight.v1",
  cogWeightConfig: "application/vnd.cog.weight.config.v1+json",
} as const;

/** A manifest or an index may have 4 MiB, which every registry must accept. */
export const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
/** The configuration of an image may have 1 MiB. Cog's have 5 to 100 KB. */
export const MAX_CONFIG_BYTES = 1024 * 1024;

/** A digest of the two algorithms that OCI registers and that clients use. */
export const ociDigest = z
  .string()
  .regex(
    /^(?:sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$/,
    "sha256: and 64 hex digits, or sha512: and 128",
  );

export const tag = z
  .string()
  .regex(
    /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/,
    "at most 128 letters, digits, '_', '.' and '-', and no '.' or '-' at its beginning",
  );

/** Files of artifacts also have parameters, such as `text/plain; charset=utf-8`. */
const mediaType = z
  .string()
  .max(255)
  .regex(
    /^[a-zA-Z0-9][\w.!#$&^+-]*\/[a-zA-Z0-9][\w.!#$&^+-]*(?: ?;[\x20-\x7e]*)?$/,
    "a media type",
  );

/** An optional field, which may also be null. */
const orAbsent = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);

const items = <T extends z.ZodType>(item: T) => z.array(item).max(10_000);

const listOf = <T extends z.ZodType>(item: T) =>
  items(item)
    .nullish()
    .transform((list) => list ?? []);

const strings = z
  .record(z.string(), z.string())
  .nullish()
  .transform((values) => values ?? {});

export const platform = z.object({
  architecture: z.string().max(100),
  os: z.string().max(100),
  variant: orAbsent(z.string().max(100)),
});
export type Platform = z.infer<typeof platform>;

/** Names a blob or a manifest. */
export const descriptor = z.object({
  mediaType,
  digest: ociDigest,
  size: z.int().nonnegative(),
  /** Other addresses of the content. The registry refuses a descriptor that has any. */
  urls: listOf(z.string()),
  /** The bytes themselves, as Base64. */
  data: orAbsent(z.base64()),
  annotations: strings,
  platform: orAbsent(platform),
  artifactType: orAbsent(z.string().max(255)),
});
export type Descriptor = z.infer<typeof descriptor>;

const common = {
  schemaVersion: z.literal(2),
  artifactType: orAbsent(z.string().max(255)),
  annotations: strings,
  /** The manifest that this refers to, such as a signature's image. It need not exist. */
  subject: orAbsent(descriptor),
};

/** A manifest describes one image or an artifact. */
export const manifest = z.object({
  ...common,
  mediaType: orAbsent(z.enum([MEDIA_TYPES.ociManifest, MEDIA_TYPES.dockerManifest])),
  config: descriptor,
  layers: listOf(descriptor),
});
export type Manifest = z.infer<typeof manifest>;

/** An index lists images for several platforms, or other manifests and indexes. */
export const index = z.object({
  ...common,
  mediaType: orAbsent(z.enum([MEDIA_TYPES.ociIndex, MEDIA_TYPES.dockerIndex])),
  // Required, though it may be null: it is what tells an index without a media type from a manifest.
  manifests: items(descriptor)
    .nullable()
    .transform((list) => list ?? []),
});
export type Index = z.infer<typeof index>;

const MANIFESTS = new Set<string>([MEDIA_TYPES.ociManifest, MEDIA_TYPES.dockerManifest]);
const INDEXES = new Set<string>([MEDIA_TYPES.ociIndex, MEDIA_TYPES.dockerIndex]);

/** Returns the kind of document that a media type names, with or without parameters. */
export function kindOf(contentType: string): "manifest" | "index" | undefined {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (MANIFESTS.has(type)) return "manifest";
  return INDEXES.has(type) ? "index" : undefined;
}

/** The configuration of an image: its platform, its command and its labels. */
export const imageConfig = z.object({
  architecture: z.string().max(100),
  os: z.string().max(100),
  variant: orAbsent(z.string().max(100)),
  config: z
    .object({
      Labels: strings,
      Entrypoint: listOf(z.string()),
      Cmd: listOf(z.string()),
      Env: listOf(z.string()),
      ExposedPorts: z
        .record(z.string(), z.unknown())
        .nullish()
        .transform((ports) => Object.keys(ports ?? {})),
    })
    .nullish()
    .transform(
      (config) => config ?? { Labels: {}, Entrypoint: [], Cmd: [], Env: [], ExposedPorts: [] },
    ),
});
export type ImageConfig = z.infer<typeof imageConfig>;
