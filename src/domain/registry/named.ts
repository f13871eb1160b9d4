/** The digests that a manifest names, which the repository must have. */
import {
  type Descriptor,
  type Index,
  index,
  kindOf,
  MAX_MANIFEST_BYTES,
  type Manifest,
  manifest,
} from "../../protocol/oci.ts";

export { MAX_MANIFEST_BYTES };

export type Document = { kind: "manifest"; manifest: Manifest } | { kind: "index"; index: Index };

/** Returns the named descriptors without the subject, which need not exist. */
export const namedBy = (document: Document): Descriptor[] =>
  document.kind === "index"
    ? document.index.manifests
    : [document.manifest.config, ...document.manifest.layers];

/** Whether an entry is a manifest. Entries of BuildKit's cache are layers, and its configuration. */
export const namesManifest = ({ kind }: Document, { mediaType }: Descriptor): boolean =>
  kind === "index" && kindOf(mediaType) !== undefined;

/** The fault of a document that has both: clients disagree about what it is (CVE-2021-41190). */
const BOTH = "it has both `manifests` and `config` or `layers`. Use either an index or a manifest";

const hasBoth = (json: object): boolean =>
  "manifests" in json && ("config" in json || "layers" in json);

/**
 * The fault of foreign layers, which are at other addresses. Podman and containerd fetch these from the
 * runner's own network; Docker takes a layer with that digest that it has from another image.
 */
const ELSEWHERE =
  "layers with `urls` are not supported. Push all layers to this registry, without `urls`";

function checked(document: Document): Document | string {
  return namedBy(document).some(({ urls }) => urls.length > 0) ? ELSEWHERE : document;
}

/**
 * @param mediaType of the request, or else of the document itself
 * @returns undefined for a document of another type; otherwise its fault, or the document
 */
export function parseDocument(mediaType: string, json: unknown): Document | string | undefined {
  const kind = kindOf(mediaType);
  if (typeof json === "object" && json !== null && hasBoth(json)) return BOTH;
  if (kind === "index") {
    const parsed = index.safeParse(json);
    return parsed.success ? checked({ kind, index: parsed.data }) : firstIssue(parsed.error);
  }
  if (kind === "manifest") {
    const parsed = manifest.safeParse(json);
    return parsed.success ? checked({ kind, manifest: parsed.data }) : firstIssue(parsed.error);
  }
  return undefined;
}

function firstIssue({ issues }: { issues: { path: PropertyKey[]; message: string }[] }): string {
  const [first] = issues;
  return first ? `${first.path.map(String).join(".")}: ${first.message}` : "unknown format";
}

/** Returns the subject of a manifest, and its artifact type: its own, or that of its configuration. */
export function attachmentOf(document: Document) {
  const { subject, artifactType, annotations } =
    document.kind === "index" ? document.index : document.manifest;
  const configType = document.kind === "index" ? undefined : document.manifest.config.mediaType;
  return { subject: subject?.digest, artifactType: artifactType ?? configType, annotations };
}
