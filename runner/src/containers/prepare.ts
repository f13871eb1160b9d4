/** What a container needs before it starts: its image and its weights, fetched at the same time. */
import type { Engine, ReportProgress } from "../engines/engine.ts";
import { internal } from "../lib/failure.ts";
import { joinProgress } from "../weights/progress.ts";
import type { MountedWeights, Weights } from "../weights/weights.ts";
import type { Specification } from "./specification.ts";

export interface Prepared extends MountedWeights {
  /** Of the unpacked image. */
  imageBytes: number;
}

/** Nothing is held if it fails. @throws Failure; the signal's reason */
export async function prepare(
  { engine, weights }: { engine: Engine; weights: Pick<Weights, "open"> },
  specification: Specification,
  report: ReportProgress,
  signal: AbortSignal,
): Promise<Prepared> {
  if (specification.weights.length === 0) {
    const imageBytes = await engine.pull(specification, report, signal);
    return { imageBytes, mounts: [], async release() {} };
  }
  if (engine.noMounts !== undefined) throw internal(engine.noMounts);
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const [ofImage, ofWeights] = joinProgress(report);
  const pulling = engine.pull(specification, ofImage.report, both).finally(ofImage.end);
  const opening = weights.open(specification, ofWeights.report, both).finally(ofWeights.end);
  try {
    const [imageBytes, mounted] = await Promise.all([pulling, opening]);
    return { imageBytes, ...mounted };
  } catch (error) {
    failed.abort(error);
    await opening.then(({ release }) => release()).catch(() => {});
    throw error;
  }
}
