/** Uploads a picture and runs a model on it, for `npm start`. */
import { stat } from "node:fs/promises";
import { sendParts } from "../../runner/src/files/send-parts.ts";
import { predictionWithIO } from "../protocol/prediction.ts";
import { upload } from "../protocol/upload.ts";
import type { Client } from "./client.ts";

const TIMEOUT_MS = 60_000;

export interface Picture {
  /** The URL of the upload, for inputs. */
  input: string;
  /** The URL of the resulting picture. */
  output: string;
}

export async function makePicture(client: Client, model: string, file: string): Promise<Picture> {
  const { size } = await stat(file);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const begun = await client.call(upload, "POST", "/uploads", {
    body: { size, mime_type: "image/jpeg", name: "landscape.jpg" },
    signal,
  });
  const { part_size: partSize, urls } = begun;
  const etags = await sendParts({ file, size, partSize, urls, parallel: 1, signal });
  const { url } = await client.call(upload, "POST", `/uploads/${begun.id}/complete`, {
    body: { etags },
    signal,
  });
  const made = await client.call(predictionWithIO, "POST", "/predictions", {
    headers: { prefer: "wait" },
    body: { model, input: { image: url } },
    signal,
  });
  if (made.status !== "succeeded") {
    throw new Error(`${model} is ${made.status}: ${made.error?.message ?? "not finished in time"}`);
  }
  return { input: url, output: String(made.output) };
}
