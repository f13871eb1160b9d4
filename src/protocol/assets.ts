/** The manifest of static assets, which src/dev/assets.ts writes for the Worker. */
import { z } from "zod";

const packageSummary = z.object({
  version: z.string(),
  bytes: z.number(),
  /** Hash of the package, in hexadecimal. */
  sha256: z.string(),
});
export type PackageSummary = z.infer<typeof packageSummary>;

export const manifest = z.object({
  /** Paths by name: `page` (a script), `style.css`. */
  files: z.record(z.string(), z.string()),
  /** The content of the SVG of each icon (16 by 16), by the names of src/dashboard/ui/icons.ts. */
  icons: z.record(z.string(), z.string()),
  /** The content of the SVG of the bird (32 by 32). */
  bird: z.string(),
  runner: packageSummary,
  /** The package of the command, at /auspex.tgz. */
  cli: packageSummary,
});
export type Manifest = z.infer<typeof manifest>;

export const guide = z.object({
  title: z.string(),
  /** The first paragraph, as plain text. */
  description: z.string(),
  /** HTML: what comes before the first section, without the title. */
  introduction: z.string(),
  sections: z.string(),
  headings: z.array(z.object({ level: z.number(), id: z.string(), html: z.string() })),
});
export type Guide = z.infer<typeof guide>;

/** A part of the documentation with a heading of its own. */
export const passage = z.object({
  path: z.string(),
  page: z.string(),
  /** The id of the heading; empty for the beginning of a page. */
  id: z.string(),
  title: z.string(),
  text: z.string(),
});
export type Passage = z.infer<typeof passage>;
export const passages = z.array(passage);
