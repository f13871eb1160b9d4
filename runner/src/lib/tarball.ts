/** Writes a tarball whose bytes depend only on its files: the runner's own package. */
import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";

export type Files = [path: string, content: string | Buffer][];

/** The date npm gives to everything it packs. */
const MTIME = new Date("1985-10-26T08:15:00Z");

/** @param folder the folder in the tarball that contains the files */
export function tarball(folder: string, files: Files): Promise<Buffer> {
  const archive = pack();
  for (const [path, content] of files)
    archive.entry({ name: `${folder}/${path}`, mode: 0o644, mtime: MTIME }, content);
  archive.finalize();
  return buffer(archive.pipe(createGzip({ level: 9 })));
}
