/** Reads from an image how to run it. */

import { z } from "zod";
import { parseAs } from "../../../../src/run/bounded-json.ts";
import { external } from "../../../../src/run/failure.ts";
import { listsFiles, openapi } from "../../interfaces/cog/protocol.ts";

/** Cog used `org.cogmodel.` before 2022. */
const PREFIXES = ["run.cog.", "org.cogmodel."];

/** `--await-explicit-shutdown`: the server stops on POST /shutdown and ignores a SIGTERM. */
export const COG_COMMAND = ["python", "-m", "cog.server.http", "--await-explicit-shutdown=true"];

const cogConfiguration = z.object({
  build: z.object({ gpu: z.boolean().default(false) }).prefault({}),
});

export interface ImageFacts {
  /** Whether Cog has built the image, so that its server accepts flags. */
  cog: boolean;
  /** Whether the image's server uploads files; otherwise files are inside the outputs. */
  uploads: boolean;
  /** Whether the image asks for a GPU. The hardware class decides whether a container gets one. */
  gpu: GpuNeed;
}

/** `welcome`: the image may also work without a GPU. */
export type GpuNeed = "needed" | "welcome" | "none";

/**
 * Set by NVIDIA's base images, on which those of vLLM and llama.cpp for CUDA are built. Some such
 * images also work without a GPU.
 */
const NVIDIA_DEVICES = /^NVIDIA_VISIBLE_DEVICES=(?!(none|void)?$)/;

/**
 * @param environment the image's variables, as `NAME=value`
 * @param hasWeights whether the container gets weights that are not in the image
 */
export function imageFacts(
  labels: Record<string, string>,
  environment: readonly string[] = [],
  hasWeights = false,
): ImageFacts {
  const names = Object.keys(labels);
  if (!hasWeights && names.some((name) => name.startsWith("run.cog.weight."))) {
    throw external(
      "the image's weights are stored outside it (Cog managed weights), and this version has none. " +
        "Push the image with cog push, and publish the tag that it pushed",
    );
  }
  const prefix = PREFIXES.find((start) => names.includes(`${start}version`));
  if (prefix === undefined) {
    const hasDevices = environment.some((one) => NVIDIA_DEVICES.test(one));
    return { cog: false, uploads: false, gpu: hasDevices ? "welcome" : "none" };
  }
  return {
    cog: true,
    uploads: !losesFileOrder(
      labels[`${prefix}version`] ?? "",
      labels[`${prefix}openapi_schema`] ?? "",
    ),
    gpu: requiresGpu(labels[`${prefix}config`]) ? "needed" : "none",
  };
}

/**
 * Cog 0.17 and later uploads the files of a list in parallel and lists them as the uploads finish,
 * which loses their order. Inside the output they keep it.
 */
function losesFileOrder(version: string, schema: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const sideBySide = Number(major) > 0 || Number(minor) >= 17;
  const document = parseAs(openapi, schema);
  return sideBySide && document !== undefined && listsFiles(document);
}

function requiresGpu(text: string | undefined): boolean {
  if (text === undefined) return false;
  try {
    return cogConfiguration.parse(JSON.parse(text)).build.gpu;
  } catch {
    throw external("the image's label run.cog.config is invalid");
  }
}

/** `docker.io/library/x`, `library/x` and `x` are the same repository. */
const shortName = (reference: string): string =>
  reference.replace(/^(index\.)?docker\.io\//, "").replace(/^library\//, "");

/** Whether one of an image's names is exactly this `repository@digest`. */
export const hasReference = (repoDigests: readonly string[], reference: string): boolean =>
  repoDigests.some((name) => shortName(name) === shortName(reference));
