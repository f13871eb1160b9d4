/** One file out of an archive, as Docker gives it. */
import { pipeline, Readable } from "node:stream";
import { extract } from "tar-stream";
import { external } from "../../containers/failure.ts";
import type { ContainerFile } from "../engine.ts";

/**
 * Rejects with a Failure when the first entry is no regular file. The content throws when the
 * archive breaks off in it; to destroy it ends the archive.
 */
export function extractFile(archive: NodeJS.ReadableStream, path: string): Promise<ContainerFile> {
  const { promise, resolve, reject } = Promise.withResolvers<ContainerFile>();
  const unpacked = extract();
  unpacked.on("entry", ({ type, mtime }, entry) => {
    if (type === "file") {
      // Whatever happens to the entry before anybody reads it is kept for whoever does.
      return resolve({ content: Readable.from(entry), modifiedMs: mtime.getTime() });
    }
    reject(external(`${path}, which the output names, is no regular file`));
    unpacked.destroy();
  });
  pipeline(archive, unpacked, (error) => {
    reject(error ?? external(`${path}, which the output names, is no file`));
  });
  return promise;
}
