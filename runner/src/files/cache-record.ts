/** What the cache remembers of a source, as it is on disk. */
import { z } from "zod";

const fileInfo = z.object({
  name: z.string(),
  mime_type: z.string(),
  /** What a web server takes to say that nothing has changed, and which address said it. */
  validators: z
    .object({ from: z.string(), etag: z.string().optional(), modified: z.string().optional() })
    .optional(),
});
/** What is known of a source but its bytes. */
export type FileInfo = z.infer<typeof fileInfo>;
export type Validators = NonNullable<FileInfo["validators"]>;

const source = fileInfo.extend({ content: z.string(), size: z.number() });
export type Source = z.infer<typeof source>;

/** What a record takes on most disks, beside the file. */
export const RECORD_BYTES = 4_096;

/** Undefined for what is none. */
export function parseRecord(text: string): Source | undefined {
  try {
    return source.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
