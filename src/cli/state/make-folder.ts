/** Makes a folder and those above it. Not `recursive`, which never ends below one that takes none, such as /proc. */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

export async function makeFolder(folder: string): Promise<void> {
  const make = () =>
    mkdir(folder).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST" || !(await stat(folder)).isDirectory()) throw error;
    });
  await make().catch(async (error: NodeJS.ErrnoException) => {
    const parent = dirname(folder);
    if (error.code !== "ENOENT" || parent === folder) throw error;
    await makeFolder(parent);
    await make();
  });
}
