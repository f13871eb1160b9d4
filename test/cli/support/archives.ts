/** Archives of an image as engines write them, each in its own format. */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";

const hex = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

export type Format = "classic" | "oci" | "compressed" | "podman";

/** @param layers the tar of each, from the bottom up: any bytes are valid */
export async function archiveOf(format: Format, layers: Buffer[]): Promise<Buffer> {
  const config = JSON.stringify({
    architecture: "amd64",
    os: "linux",
    config: { Cmd: ["node", "model.mjs"] },
    rootfs: { type: "layers", diff_ids: layers.map((one) => `sha256:${hex(one)}`) },
  });
  const archive = pack();
  const bytes = buffer(archive);
  const paths = layers.map((layer, index) => {
    const stored = format === "compressed" ? gzipSync(layer) : layer;
    const path = pathOf(format, layer, stored, index);
    const first = layers.findIndex((one) => one.equals(layer));
    // Docker's older store writes a layer once, and links to it.
    if (format === "classic" && first < index) {
      const linkname = `../${pathOf(format, layer, stored, first)}`;
      archive.entry({ name: path, type: "symlink", linkname });
    } else if (first === index) archive.entry({ name: path }, stored);
    return path;
  });
  const isOci = format === "oci" || format === "compressed";
  const configPath = isOci ? `blobs/sha256/${hex(config)}` : `${hex(config)}.json`;
  archive.entry({ name: configPath }, config);
  if (isOci) archive.entry({ name: "index.json" }, JSON.stringify({ schemaVersion: 2 }));
  const listing = [{ Config: configPath, RepoTags: null, Layers: paths }];
  archive.entry({ name: "manifest.json" }, JSON.stringify(listing));
  archive.finalize();
  return bytes;
}

/** Returns the tar of an OCI layout with an image of these layers, and the digest of its manifest. */
export async function layoutOf(layers: Buffer[]): Promise<{ bytes: Buffer; digest: string }> {
  const archive = pack();
  const bytes = buffer(archive);
  const add = (mediaType: string, content: Buffer | string) => {
    archive.entry({ name: `blobs/sha256/${hex(content)}` }, content);
    return { mediaType, digest: `sha256:${hex(content)}`, size: content.length };
  };
  const type = (name: string) => `application/vnd.oci.image.${name}`;
  const diff_ids = layers.map((one) => `sha256:${hex(one)}`);
  const image = { architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids } };
  const listed = layers.map((one) => add(type("layer.v1.tar"), one));
  const config = add(type("config.v1+json"), JSON.stringify(image));
  const text = JSON.stringify({ schemaVersion: 2, config, layers: listed });
  const manifest = add(type("manifest.v1+json"), text);
  const index = { schemaVersion: 2, manifests: [manifest] };
  archive.entry({ name: "index.json" }, JSON.stringify(index));
  archive.finalize();
  return { bytes: await bytes, digest: manifest.digest };
}

function pathOf(format: Format, layer: Buffer, stored: Buffer, index: number): string {
  switch (format) {
    case "classic":
      return `${hex(`${index}${hex(layer)}`)}/layer.tar`;
    case "podman":
      return `${hex(layer)}.tar`;
    default:
      return `blobs/sha256/${hex(stored)}`;
  }
}

/**
 * Writes a `docker` that has one image, which it saves as the archive. Its calls are written to the file
 * `calls` beside it.
 * @returns the folder to put into PATH
 */
export function fakeDocker(home: string, archive: Buffer, platform = "linux/amd64"): string {
  const folder = join(home, "bin");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "image.tar"), archive);
  const [Os, Architecture] = platform.split("/");
  const inspected = JSON.stringify([{ Os, Architecture }]);
  const script = `#!/bin/sh
here=\${0%/*}
echo "$*" >>"$here/calls"
case "$1" in
  image)
    [ "$2" = rm ] && { : >"$here/untagged"; exit 0; }
    [ "$3" = missing ] || [ -e "$here/untagged" ] && exit 1
    echo '${inspected}' ;;
  save) cat "$here/image.tar" ;;
  build)
    echo "building $*"
    [ ! -e "$here/broken" ] || { echo "no space" >&2; exit 3; }
    [ -e "$here/elsewhere" ] || [ ! -e "$here/untagged" ] || rm "$here/untagged" ;;
esac
`;
  writeFileSync(join(folder, "docker"), script);
  chmodSync(join(folder, "docker"), 0o755);
  return folder;
}
