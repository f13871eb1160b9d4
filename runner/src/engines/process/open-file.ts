/** One file that a process has written into the folder that is its own. */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { sep } from "node:path";
import { external } from "../../containers/failure.ts";
import type { ContainerFile } from "../engine.ts";

/** Nothing that lies elsewhere, whatever links lead there: a model does not speak for the runner. */
export async function openFileIn(folder: string, path: string): Promise<ContainerFile> {
  const [root, real] = await Promise.all([realpath(folder), realpath(path).catch(() => undefined)]);
  if (!real?.startsWith(root + sep)) {
    throw external(`${path}, which the output names, is no file below $TMPDIR`);
  }
  // Without O_NONBLOCK the opening of a named pipe would wait for somebody to write to it.
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stat = await handle.stat();
  if (stat.isFile()) return { content: handle.createReadStream(), modifiedMs: stat.mtimeMs };
  await handle.close();
  throw external(`${path}, which the output names, is no regular file`);
}
