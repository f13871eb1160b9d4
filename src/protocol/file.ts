/** Files: completed uploads and outputs of models. */
import { z } from "zod";
import { integerText, timestamp, uuid } from "./common.ts";

export const signedQuery = z.object({
  expires: integerText(0, 99_999_999_999).meta({
    description: "When the URL expires, in Unix seconds",
    example: 1_795_310_130,
  }),
  signature: z
    .string()
    .regex(/^[\w-]{43}$/, "the URL was modified: use it unchanged")
    .meta({
      description: "Signature of the URL. Do not change the URL",
      example: "Jv3c0yWm1xPq8sT5uZ7aB9dE2fG4hK6nL-oR_iQwXkY",
    }),
});
export type SignedQuery = z.infer<typeof signedQuery>;

/** Identifies a file by its upload or prediction, and its name. */
export const oneFile = z.object({
  source_id: uuid.meta({
    description: "ID of the upload or prediction that the file belongs to",
    example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  }),
  file_name: z
    .string()
    .max(150)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "letters, digits, '.', '_' and '-'")
    .meta({ description: "Name of the file", example: "x7Kd02ab-out.png" }),
});
export type OneFile = z.infer<typeof oneFile>;

/** The longest lifetime of a shared URL: a week. */
export const MAX_ADDRESS_SECONDS = 7 * 86_400;

/** The body of POST /files/{source_id}/{file_name}/addresses. */
export const createAddress = z
  .strictObject({
    expires_in: z
      .int()
      .min(1)
      .max(MAX_ADDRESS_SECONDS)
      .default(3_600)
      .meta({ description: "Lifetime of the URL in seconds" }),
  })
  .meta({ id: "CreateAddress", description: "Lifetime of a signed URL" });

/** The response: a URL that needs no token. */
export const fileAddress = z
  .object({
    url: z
      .url()
      .meta({ description: "Signed URL. Anyone with it can read the file without a token" }),
    expires_at: timestamp.meta({ description: "When the URL expires" }),
  })
  .meta({ id: "FileAddress", description: "A signed URL of a file" });
export type FileAddress = z.infer<typeof fileAddress>;
