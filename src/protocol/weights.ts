/** Weights that are not in a version's image: files that its containers find at a path, read-only. */
import { z } from "zod";
import { digest, uuid } from "./common.ts";

export const MAX_WEIGHTS = 100;

/** Paths of a container's system, and paths where Docker mounts files. */
const SYSTEM = [
  ..."/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /proc /run /sbin /sys /var/run".split(" "),
  ..."/usr/bin /usr/lib /usr/lib32 /usr/lib64 /usr/libx32 /usr/sbin".split(" "),
];

const MAX_TARGET = 255;

/** Checks a path where weights are to be mounted. @returns the error; undefined if there is none */
export function targetProblem(target: string): string | undefined {
  if (!target.startsWith("/")) return "the target must be an absolute path, such as /models/a.gguf";
  if (target.length > MAX_TARGET) return `the target can have at most ${MAX_TARGET} characters`;
  const parts = target.slice(1).split("/");
  // "/" itself is refused, too: no container starts without its root.
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    return "the target must name a path below /, without '.', '..' or empty parts";
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it keeps out.
  if (/[\0-\x1f\x7f\\]/.test(target)) {
    return "the target must have no control characters and no backslashes";
  }
  const system = SYSTEM.find((path) => isWithin(target, path) || isWithin(path, target));
  return system && `the target must not hide ${system}: choose another folder, such as /models`;
}

/** Mounts inside others, which are read-only, are refused. @returns the error; undefined if there is none */
export function overlapProblem(targets: readonly string[]): string | undefined {
  const sorted = targets.toSorted();
  for (const [n, target] of sorted.entries()) {
    if (sorted[n + 1] === target) return `two weights have the target ${target}`;
    const outer = sorted.slice(0, n).find((other) => isWithin(target, other));
    if (outer !== undefined) return `the target ${target} lies within another one, ${outer}`;
  }
  return undefined;
}

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

const target = z
  .string()
  .max(MAX_TARGET)
  .check(({ value, issues }) => {
    const message = targetProblem(value);
    if (message) issues.push({ code: "custom", message, input: value });
  })
  .meta({ description: "Absolute path in the container", example: "/models/qwen.gguf" });

const configuredWeight = z
  .strictObject({
    target,
    file: z.string().min(1).max(2_048).meta({
      description:
        "A completed upload of the version's owner: its ID, its URL or the URL of its file. Stored as the ID",
      example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
    }),
  })
  .meta({ id: "Weight", description: "A file that the version's containers can read" });

export const configuredWeights = z
  .array(configuredWeight)
  .max(MAX_WEIGHTS)
  .check(({ value, issues }) => {
    const message = overlapProblem(value.map(({ target }) => target));
    if (message) issues.push({ code: "custom", message, input: value });
  });

/** A file of `configuration.weights`, as the version keeps it: a file of an upload never changes. */
export interface WeightFile {
  target: string;
  id: string;
  key: string;
  size: number;
}

/** A weight that an image brings (Cog's managed weights), as the version keeps it. */
export interface ImageWeight {
  name: string;
  target: string;
  /** The digest of its manifest, in the repository of the image. */
  manifest: string;
  size: number;
}

/** A weight of a job. Its target is checked where it is mounted, not when it is claimed. */
export const jobWeight = z.discriminatedUnion("kind", [
  /**
   * The manifest of a weight of Cog, in the repository of the job's image: GET
   * /v2/{repository}/manifests/{digest} and …/blobs/{digest}, with the image's grant as bearer token.
   */
  z.object({
    kind: z.literal("oci"),
    name: z.string().max(1_000),
    target: z.string().max(1_000),
    manifest: digest,
  }),
  z.object({
    kind: z.literal("file"),
    target: z.string().max(1_000),
    /** Identifies the content, which never changes. */
    id: uuid,
    /** Signed; valid for a day from when the job is handed out. */
    url: z.url(),
    size: z.int().positive(),
  }),
]);
export type JobWeight = z.infer<typeof jobWeight>;
