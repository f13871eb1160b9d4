/** The manifest of static assets, which src/dev/assets.ts writes for the Worker. */
import { z } from "zod";

const packageSummary = z.object({
  version: z.string(),
  bytes: z.number(),
  /** Hex, of the package. */
  sha256: z.string(),
});
export type PackageSummary = z.infer<typeof packageSummary>;

export const manifest = z.object({
  /** Paths by name: `page` (a script), `style.css`. */
  files: z.record(z.string(), z.string()),
  /** What is inside the SVG of each icon, 16 by 16, by the names of src/dashboard/ui/icons.ts. */
  icons: z.record(z.string(), z.string()),
  /** What is inside the SVG of the bird, 32 by 32. */
  bird: z.string(),
  /** The runner's package, at /auspex-runner.tgz. */
  runner: packageSummary,
  /** The command's, at /auspex.tgz. */
  cli: packageSummary,
});
export type Manifest = z.infer<typeof manifest>;
