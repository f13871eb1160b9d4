/** Opens a file that a process has written into its own folder. */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { sep } from "node:path";
import type { ContainerFile } from "../../files/output-references.ts";
import { external } from "../../lib/failure.ts";

/**
 * Rejects files outside the folder, also behind symbolic links: a model must not read with the
 * runner's permissions.
 */
export async function openFileIn(folder: string, path: string): Promise<ContainerFile> {
  const [root, real] = await Promise.all([realpath(folder), realpath(path).catch(() => undefined)]);
  if (!real?.startsWith(root + sep)) {
    throw external(`${path} in the output is not a file below $TMPDIR`);
  }
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stat = await handle.stat();
  if (stat.isFile()) return { content: handle.createReadStream(), modifiedMs: stat.mtimeMs };
  await handle.close();
  throw external(`${path} in the output is not a regular file`);
}
