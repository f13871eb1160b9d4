/** Uploads: a file is sent in parts, each to its own URL, and assembled when the upload is completed. */
import { z } from "zod";
import { timestamp, uuid } from "./common.ts";

export const MAX_PARTS = 10_000;
const MIB = 1024 * 1024;

const mimeType = z
  .string()
  .max(255)
  .regex(/^[\w.+-]+\/[\w.+-]+(?: *;[ -~]*)?$/, "Use a media type, such as image/png")
  .meta({ description: "The file's media type", example: "image/png" });

/** No slashes, control characters or lone surrogates. Without the `u` flag, which OpenAPI patterns lack. */
const NAME =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it keeps out.
  /^(?:[^/\\\0-\x1f\x7f-\x9f\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff])+$/;

const fileName = z
  .string()
  .min(1)
  .max(255)
  .regex(NAME, "a name without slashes and control characters")
  .meta({ description: "File name for downloads", example: "photo.png" });

const etag = z.string().min(1).max(300);

/** The body of POST /uploads, and of POST /runner/uploads. */
export const createUpload = z
  .strictObject({
    size: z.int().min(1).meta({
      description:
        "Exact size of the file in bytes; at most 996,147,200,000 unless the operator has changed the limit",
      example: 20_000_000,
    }),
    mime_type: mimeType,
    name: fileName.optional(),
  })
  .meta({ id: "CreateUpload", description: "A file to upload" });
export type CreateUpload = z.infer<typeof createUpload>;

export const completeUpload = z
  .strictObject({
    etags: z.array(etag).min(1).max(MAX_PARTS).meta({
      description: "The `ETag` of each part in order, with or without quotes",
    }),
  })
  .meta({ id: "CompleteUpload", description: "The parts of the file" });
export type CompleteUpload = z.infer<typeof completeUpload>;

export const uploadPart = z
  .object({
    part_number: z.int().min(1).max(MAX_PARTS).meta({ description: "From 1", example: 1 }),
    etag: etag.meta({ description: "Needed to complete the upload", example: '"9b2cf5…"' }),
  })
  .meta({ id: "UploadPart", description: "A received part" });
export type UploadPart = z.infer<typeof uploadPart>;

export const uploadStatus = z.enum(["pending", "completed"]).meta({
  description: "`pending`: not yet completed. `completed`: the file is available",
});

export const upload = z
  .object({
    id: uuid,
    url: z.url().meta({
      description: "URL of the upload. Once completed, use it as input wherever a file is expected",
      example: "https://auspex.example.com/v1/uploads/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
    }),
    status: uploadStatus,
    size: z.int().meta({ description: "Bytes", example: 20_000_000 }),
    mime_type: z.string().meta({ description: "Media type of the file", example: "image/png" }),
    name: z.string().nullable().meta({ description: "File name, or null", example: "photo.png" }),
    part_size: z.int().meta({
      description: "Size of each part in bytes, except the last",
      example: 16_777_216,
    }),
    urls: z.array(z.url()).meta({
      description:
        "Signed URLs to PUT the parts to, in order. Empty once the upload is completed, and for tokens without the scope `predict`",
    }),
    parts: z.array(uploadPart).meta({
      description: "Received parts, by number. Empty once the upload is completed",
    }),
    file_url: z.url().nullable().meta({
      description: "Signed URL of the file, valid for a day; null until the upload is completed",
    }),
    created_at: timestamp,
    expires_at: timestamp.meta({
      description:
        "When a pending upload expires, or when the file of a completed one is deleted. Using the file in a prediction or version extends this, and it is the end of the year 9999 while an overview of one of your models shows the file",
    }),
  })
  .meta({ id: "Upload", description: "A file uploaded in parts" });
export type Upload = z.infer<typeof upload>;

/** Bytes of a part. @param number from 1 */
export const partLength = (size: number, partSize: number, number: number): number =>
  Math.min(partSize, size - (number - 1) * partSize);

export interface PartSizes {
  /** The default size; R2 requires at least 5 MiB. */
  usual: number;
  /** The largest request body: 100 MB on Cloudflare's Free and Pro plans. */
  largest: number;
}

export const largestUpload = ({ largest }: PartSizes): number => largest * MAX_PARTS;

/** Returns the bytes of each part except the last; undefined for a file that is too large. */
export function partSizeFor(size: number, sizes: PartSizes): number | undefined {
  if (size > largestUpload(sizes)) return undefined;
  return Math.max(sizes.usual, Math.ceil(size / MAX_PARTS / MIB) * MIB);
}

export const partCount = (size: number, partSize: number): number => Math.ceil(size / partSize);
