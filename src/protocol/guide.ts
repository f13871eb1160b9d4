/** A guide, as it is built from its Markdown (src/dev/assets.ts) for the Worker to serve. */
import { z } from "zod";

export const guide = z.object({
  title: z.string(),
  /** Its first paragraph, as plain text. */
  description: z.string(),
  /** HTML: what comes before the first section, without the title. */
  introduction: z.string(),
  /** HTML: the sections. */
  sections: z.string(),
  headings: z.array(z.object({ level: z.number(), id: z.string(), html: z.string() })),
});
export type Guide = z.infer<typeof guide>;

/** A part of the documentation with a heading of its own. */
export const passage = z.object({
  /** Of its page. */
  path: z.string(),
  /** What its page is called. */
  page: z.string(),
  /** Of its heading; empty for the beginning of a page. */
  id: z.string(),
  title: z.string(),
  /** As plain text. */
  text: z.string(),
});
export type Passage = z.infer<typeof passage>;
export const passages = z.array(passage);
