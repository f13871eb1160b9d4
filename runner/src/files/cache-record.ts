/** The cache's record of a source, as stored on disk. */
import { z } from "zod";

const fileInfo = z.object({
  name: z.string(),
  mime_type: z.string(),
  /** The validators that ask a web server whether the file has changed, and the URL of the file. */
  validators: z
    .object({ from: z.string(), etag: z.string().optional(), modified: z.string().optional() })
    .optional(),
});
/** Properties of a source other than its bytes. */
export type FileInfo = z.infer<typeof fileInfo>;
export type Validators = NonNullable<FileInfo["validators"]>;

const source = fileInfo.extend({ content: z.string(), size: z.number() });
export type Source = z.infer<typeof source>;

/** The size of a record on most disks. */
export const RECORD_BYTES = 4_096;

/** Returns undefined if the text is not a record. */
export function parseRecord(text: string): Source | undefined {
  try {
    return source.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
