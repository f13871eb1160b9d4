/** Uploads of files over the API, as inputs of predictions. */
import { stat } from "node:fs/promises";
import { sendParts } from "../../../runner/src/files/send-parts.ts";
import type { Client } from "../../../src/dev/client.ts";
import { upload } from "../../../src/protocol/upload.ts";

/** Uploads a file. @returns the address of the upload */
export async function uploadFile(client: Client, file: string): Promise<string> {
  const { size } = await stat(file);
  const body = { size, mime_type: "image/jpeg", name: "landscape.jpg" };
  const begun = await client.call(upload, "POST", "/uploads", { body });
  const { part_size: partSize, urls } = begun;
  const signal = AbortSignal.timeout(10_000);
  const etags = await sendParts({ file, size, partSize, urls, parallel: 2, signal });
  const path = `/uploads/${begun.id}/complete`;
  return (await client.call(upload, "POST", path, { body: { etags } })).url;
}
