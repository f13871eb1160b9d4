/**
 * Uploads: a file comes in parts, each sent to an address of its own, and is whole once its
 * completion has been asked for. The address of an upload is what an input takes for a file.
 */
import { z } from "zod";
import { timestamp, uuid } from "./common.ts";

/** As R2 has it. */
export const MAX_PARTS = 10_000;

const mimeType = z
  .string()
  .max(255)
  .regex(/^[\w.+-]+\/[\w.+-]+(?: *;[ -~]*)?$/, "a media type, as in image/png")
  .meta({ description: "The file's media type", example: "image/png" });

/** Whole characters but slashes and controls, without a flag: a pattern in a document has none. */
const NAME =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it keeps out.
  /^(?:[^/\\\0-\x1f\x7f-\x9f\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff])+$/;

const fileName = z
  .string()
  .min(1)
  .max(255)
  .regex(NAME, "a name without slashes and control characters")
  .meta({ description: "What the file is called when it is downloaded", example: "photo.png" });

const etag = z.string().min(1).max(300);

/** The body of POST /uploads, and of POST /runner/uploads. */
export const createUpload = z
  .strictObject({
    size: z.int().min(1).meta({
      description:
        "The file's exact size, bytes: up to 996,147,200,000 unless the operator chose otherwise",
      example: 20_000_000,
    }),
    mime_type: mimeType,
    name: fileName.optional(),
  })
  .meta({ id: "CreateUpload", description: "A file that is to come" });
export type CreateUpload = z.infer<typeof createUpload>;

/** The body of POST …/uploads/{id}/complete. */
export const completeUpload = z
  .strictObject({
    etags: z.array(etag).min(1).max(MAX_PARTS).meta({
      description: "The `ETag` of each part, in the order of the parts; with or without quotes",
    }),
  })
  .meta({ id: "CompleteUpload", description: "The parts that make the file" });
export type CompleteUpload = z.infer<typeof completeUpload>;

export const uploadPart = z
  .object({
    part_number: z.int().min(1).max(MAX_PARTS).meta({ description: "From 1", example: 1 }),
    etag: etag.meta({ description: "What completion wants to have", example: '"9b2cf5…"' }),
  })
  .meta({ id: "UploadPart", description: "A part that has arrived" });
export type UploadPart = z.infer<typeof uploadPart>;

export const uploadStatus = z.enum(["pending", "completed"]).meta({
  description: "`pending`: waits for parts and completion. `completed`: it is a file",
});

export const upload = z
  .object({
    id: uuid,
    url: z.url().meta({
      description: "Its own address: an input that wants a file takes it once it is completed",
      example: "https://auspex.example.com/v1/uploads/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
    }),
    status: uploadStatus,
    size: z.int().meta({ description: "Bytes", example: 20_000_000 }),
    mime_type: z.string().meta({ description: "As it was given", example: "image/png" }),
    name: z
      .string()
      .nullable()
      .meta({ description: "As it was given, or null", example: "photo.png" }),
    part_size: z.int().meta({
      description: "Bytes in each part but the last, which has the rest",
      example: 16_777_216,
    }),
    urls: z.array(z.url()).meta({
      description:
        "Where each part is PUT, in order. They need no token. Empty once it is completed, and for a token without the scope `predict`",
    }),
    parts: z.array(uploadPart).meta({
      description: "The parts that have arrived, by number. Empty once it is completed",
    }),
    file_url: z.url().nullable().meta({
      description: "Where the file can be read without a token, for a day; null until completed",
    }),
    created_at: timestamp,
    expires_at: timestamp.meta({
      description:
        "Until then a pending one must be completed. A completed one is removed then, unless a prediction takes it meanwhile",
    }),
  })
  .meta({ id: "Upload", description: "A file that comes in parts, or has come" });
export type Upload = z.infer<typeof upload>;

/** How large the part with this number is, bytes. Numbers begin with 1. */
export const partLength = (size: number, partSize: number, number: number): number =>
  Math.min(partSize, size - (number - 1) * partSize);
