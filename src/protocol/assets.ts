/** The list of what is built beside the Worker, as src/dev/assets.ts leaves it for the Worker. */
import { z } from "zod";

export const manifest = z.object({
  /** Addresses by name: `page` (a script), `style.css`. */
  files: z.record(z.string(), z.string()),
  /** The runner's package, at /auspex-runner.tgz. */
  runner: z.object({
    version: z.string(),
    bytes: z.number(),
    /** Of the package, hex. */
    sha256: z.string(),
  }),
});
export type Manifest = z.infer<typeof manifest>;
