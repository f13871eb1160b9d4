/** Files: what an upload has become, and what models make. */
import { z } from "zod";
import { integerText, timestamp, uuid } from "./common.ts";

/** What a signed address has in its query. */
export const signedQuery = z.object({
  expires: integerText(0, 99_999_999_999).meta({
    description: "When the address ends, Unix seconds",
    example: 1_795_310_130,
  }),
  signature: z
    .string()
    .regex(/^[\w-]{43}$/, "the address is not as it was given: use it unchanged")
    .meta({
      description: "Holds for everything in the address: use it unchanged",
      example: "Jv3c0yWm1xPq8sT5uZ7aB9dE2fG4hK6nL-oR_iQwXkY",
    }),
});
export type SignedQuery = z.infer<typeof signedQuery>;

/** The place of a file: the upload or the prediction that it belongs to, and its name there. */
export const oneFile = z.object({
  source_id: uuid.meta({
    description: "The upload or the prediction that it belongs to",
    example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  }),
  file_name: z
    .string()
    .max(150)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "letters, digits, '.', '_' and '-'")
    .meta({
      description: "The file's name in its address",
      example: "x7Kd02ab-out.png",
    }),
});
export type OneFile = z.infer<typeof oneFile>;

/** The longest that an address for somebody else may be good for: a week. */
export const MAX_ADDRESS_SECONDS = 7 * 86_400;

/** The body of POST /files/{source_id}/{file_name}/addresses. */
export const createAddress = z
  .strictObject({
    expires_in: z
      .int()
      .min(1)
      .max(MAX_ADDRESS_SECONDS)
      .default(3_600)
      .meta({ description: "Seconds that it is to be good for" }),
  })
  .meta({ id: "CreateAddress", description: "How long an address is to be good for" });

/** The answer: where the file can be read without a token. */
export const fileAddress = z
  .object({
    url: z.url().meta({ description: "Needs no token: whoever has it can read the file" }),
    expires_at: timestamp.meta({ description: "When the address ends" }),
  })
  .meta({ id: "FileAddress", description: "A signed address of a file" });
export type FileAddress = z.infer<typeof fileAddress>;
