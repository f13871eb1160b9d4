/** What an image says about how to run it. */
import { z } from "zod";
import { external } from "../../containers/failure.ts";
import { listsFiles, openapi, parseAs } from "../../interfaces/cog/protocol.ts";

/** `org.cogmodel.` is what Cog wrote before 2022. */
const PREFIXES = ["run.cog.", "org.cogmodel."];

const cogConfiguration = z.object({
  build: z.object({ gpu: z.boolean().default(false) }).prefault({}),
});

export interface ImageFacts {
  /** Built by Cog itself, so that its server takes flags. */
  cog: boolean;
  /** Whether its server is told where its files go: else they come inside of its outputs. */
  uploads: boolean;
  /** `welcome`: it takes them where there are any. */
  gpu: GpuNeed;
}

export type GpuNeed = "needed" | "welcome" | "none";

/**
 * What images are built on that NVIDIA has made for its GPUs: vLLM's, llama.cpp's for CUDA. Some
 * that are just work without.
 */
const NVIDIA_DEVICES = /^NVIDIA_VISIBLE_DEVICES=(?!(none|void)?$)/;

/** `environment`: what the image sets, as `NAME=value`. */
export function imageFacts(
  labels: Record<string, string>,
  environment: readonly string[] = [],
): ImageFacts {
  const names = Object.keys(labels);
  if (names.some((name) => name.startsWith("run.cog.weight."))) {
    throw external(
      "the image leaves its weights outside (Cog managed weights), which this runner cannot " +
        "mount: build it with the weights inside, or let setup() download them",
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
 * From 0.17 on Cog uploads the files of a list side by side, and lists them as the uploads end. Its
 * names say nothing of the order: inside of the output they have it.
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
    throw external("the image's label run.cog.config is not what Cog writes");
  }
}

/** `docker.io/library/x`, `library/x` and `x` are one repository. */
const shortName = (reference: string): string =>
  reference.replace(/^(index\.)?docker\.io\//, "").replace(/^library\//, "");

/** Of the names that an image has on this box, whether one is this very `repository@digest`. */
export const hasReference = (repoDigests: readonly string[], reference: string): boolean =>
  repoDigests.some((name) => shortName(name) === shortName(reference));
