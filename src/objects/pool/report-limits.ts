/**
 * Limits of the reports that a pool keeps of its runners. Its isolate has 128 MB for all of its objects: the
 * runners of one token fill at most 80 MB, and a runner with 8 containers and 40 images takes about 10 KB.
 */
import type { RunnerSnapshot } from "../../protocol/runner-state.ts";

/** Characters of JSON; 256 containers have about 110,000. */
const MAX_REPORT = 130_000;
/** The most characters of images. Further images count as not downloaded. */
const MAX_IMAGES = 30_000;
const MAX_RUNNERS = 1_000;

/** Whether the kept part of a runner's report is small enough. */
export const isSmall = ({ containers, devices, jobs }: RunnerSnapshot): boolean =>
  JSON.stringify([containers, devices, jobs]).length <= MAX_REPORT;

export function keptImages(images: readonly string[]): ReadonlySet<string> {
  let left = MAX_IMAGES;
  return new Set(
    images.filter((image) => {
      left -= image.length;
      return left >= 0;
    }),
  );
}

/**
 * Whether another runner of a token may join: a token has at most half of the places that other tokens leave.
 * @param own runners that the token has in the pool
 * @param others runners of other tokens
 */
export const hasPlace = (own: number, others: number): boolean =>
  own < Math.ceil((MAX_RUNNERS - others) / 2);
