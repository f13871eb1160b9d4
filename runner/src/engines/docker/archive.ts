/** Extracts the single file of a tar archive, as Docker returns it. */
import { pipeline, Readable } from "node:stream";
import { extract } from "tar-stream";
import type { ContainerFile } from "../../files/output-references.ts";
import { external } from "../../lib/failure.ts";

/**
 * Rejects with a Failure if the first entry is not a regular file. The content throws if the
 * archive ends early; destroying it ends the archive.
 */
export function extractFile(archive: NodeJS.ReadableStream, path: string): Promise<ContainerFile> {
  const { promise, resolve, reject } = Promise.withResolvers<ContainerFile>();
  const unpacked = extract();
  unpacked.on("entry", ({ type, mtime }, entry) => {
    if (type === "file") {
      // Readable.from keeps errors until somebody reads.
      return resolve({ content: Readable.from(entry), modifiedMs: mtime.getTime() });
    }
    reject(external(`${path} in the output is not a regular file`));
    unpacked.destroy();
  });
  pipeline(archive, unpacked, (error) => {
    reject(error ?? external(`${path} in the output is not a file`));
  });
  return promise;
}
