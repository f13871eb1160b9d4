import { open } from "node:fs/promises";
import { HEADER_BYTES, wavSeconds } from "../../../src/domain/files/wav.ts";
import type { ServedFile } from "./serve-files.ts";

/** Returns the duration of a WAV file; undefined for any other. */
export async function wavSecondsIn(
  file: Pick<ServedFile, "path" | "size" | "mime_type">,
): Promise<number | undefined> {
  if (!/^(?:audio\/|application\/octet-stream)/i.test(file.mime_type)) return undefined;
  const opened = await open(file.path);
  try {
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    return wavSeconds(buffer.subarray(0, bytesRead), file.size);
  } finally {
    await opened.close();
  }
}
