/** The number and size of an upload's parts, within the limits of R2 and of Cloudflare's plans. */
import { MAX_PARTS } from "../../protocol/upload.ts";

const MIB = 1024 * 1024;

export interface PartSizes {
  /** The default size; R2 requires at least 5 MiB. */
  usual: number;
  /** The largest request body: 100 MB on Cloudflare's Free and Pro plans. */
  largest: number;
}

export const largestUpload = ({ largest }: PartSizes): number => largest * MAX_PARTS;

/** Returns the bytes of each part except the last; undefined for a file that is too large. */
export function partSizeFor(size: number, sizes: PartSizes): number | undefined {
  if (size > largestUpload(sizes)) return undefined;
  return Math.max(sizes.usual, Math.ceil(size / MAX_PARTS / MIB) * MIB);
}

export const partCount = (size: number, partSize: number): number => Math.ceil(size / partSize);
