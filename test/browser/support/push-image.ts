/** An image in the deployment's registry, pushed as oras does. No engine can run it. */
import { createHash } from "node:crypto";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";

/** Pushes the image. @param model `owner/name` */
export async function pushImage(
  url: string,
  token: string,
  model: string,
  tag: string,
): Promise<void> {
  const at = `/v2/${model}`;
  const send = async (method: string, path: string, type?: string, body?: string) => {
    const response = await fetch(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${token}`, ...(type && { "content-type": type }) },
      ...(body !== undefined && { body }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response.headers.get("location") ?? "";
  };
  const push = async (content: string, mediaType: string) => {
    const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
    const upload = await send("POST", `${at}/blobs/uploads/`);
    await send("PUT", `${upload}?digest=${digest}`, "application/octet-stream", content);
    return { mediaType, digest, size: content.length };
  };
  const config = await push('{"architecture":"amd64","os":"linux"}', MEDIA_TYPES.ociConfig);
  const layer = await push("a layer", "application/vnd.oci.image.layer.v1.tar");
  const manifest = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociManifest,
    config,
    layers: [layer],
  };
  const text = JSON.stringify(manifest);
  await send("PUT", `${at}/manifests/${tag}`, MEDIA_TYPES.ociManifest, text);
}
