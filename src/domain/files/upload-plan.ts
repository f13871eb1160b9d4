/** Into how many parts of which size a file is cut, within what R2 and the plan's bodies allow. */
import { MAX_PARTS } from "../../protocol/upload.ts";

const MIB = 1024 * 1024;

/** Bytes, whole MiB. */
export interface PartSizes {
  /** As a rule; R2 wants 5 MiB at least. */
  usual: number;
  /** What a request body may have: 100 MB on Cloudflare's free and pro plans. */
  largest: number;
}

export const largestUpload = ({ largest }: PartSizes): number => largest * MAX_PARTS;

/** The size of each part but the last, bytes; undefined for a file that is too large. */
export function partSizeFor(size: number, sizes: PartSizes): number | undefined {
  if (size > largestUpload(sizes)) return undefined;
  return Math.max(sizes.usual, Math.ceil(size / MAX_PARTS / MIB) * MIB);
}

export const partCount = (size: number, partSize: number): number => Math.ceil(size / partSize);
