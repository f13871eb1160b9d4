/** The options of `auspex-runner upload`: flags, variables and the file, validated once. */
import { readFileSync } from "node:fs";
import { access, constants, realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { ParseArgsOptionsConfig } from "node:util";
import mime from "mime";
import { z } from "zod";
import { createUpload } from "../../../src/protocol/upload.ts";
import { messageOf } from "../control-plane/error.ts";
import { type Environment, type Flags, SettingsError } from "../settings/read-settings.ts";
import { settingsSchema } from "../settings/settings.ts";

/** Besides those that the settings have too: url, token-file, name. */
export const UPLOAD_FLAGS = {
  "mime-type": { type: "string" },
  parallel: { type: "string" },
  quiet: { type: "boolean", short: "q" },
} as const satisfies ParseArgsOptionsConfig;

const UNKNOWN_TYPE = "application/octet-stream";

const token = z
  .string({ error: "is required: create a token with the scope predict (aus_…)" })
  .trim()
  .refine((text) => !text.startsWith("ausr_"), {
    error: "is a runner token (ausr_…): uploads need a user token (aus_…)",
    abort: true,
  })
  .regex(/^aus_\w+$/, 'must be a user token (it begins with "aus_")');

const schema = z.object({
  url: z
    .string({ error: "is required: the URL of the service, such as https://auspex.example.com" })
    .pipe(settingsSchema.shape.url),
  token,
  mime_type: createUpload.shape.mime_type,
  name: createUpload.shape.name,
  parallel: z.coerce.number("must be a number").int().min(1).max(64).default(4),
  quiet: z.boolean().default(false),
});

/** Where each can be given, for error messages. */
const OPTION_SOURCES: Record<string, string> = {
  url: "AUSPEX_URL, --url",
  token: "AUSPEX_TOKEN, --token-file",
  mime_type: "--mime-type",
  name: "--name",
  parallel: "--parallel",
};

/** The file to upload, as it is now. */
export interface LocalFile {
  /** Absolute, with symbolic links resolved. */
  path: string;
  size: number;
  mtimeMs: number;
}

export type UploadOptions = z.output<typeof schema> & { file: LocalFile };

/** @throws SettingsError that says what to do */
export async function readUploadOptions(
  path: string | undefined,
  flags: Flags,
  environment: Environment,
): Promise<UploadOptions> {
  if (path === undefined) throw new SettingsError("upload needs a file");
  const result = schema.safeParse({
    url: flags.url ?? nonEmpty(environment.AUSPEX_URL),
    token: readToken(flags["token-file"]) ?? nonEmpty(environment.AUSPEX_TOKEN),
    mime_type: flags["mime-type"] ?? mime.getType(path) ?? UNKNOWN_TYPE,
    name: flags.name ?? defaultName(path),
    parallel: flags.parallel,
    quiet: flags.quiet,
  });
  if (!result.success) throw new SettingsError(describe(result.error));
  return { ...result.data, file: await requireFile(path) };
}

/** An empty variable counts as unset. */
const nonEmpty = (text: string | undefined): string | undefined => text || undefined;

/** The file's name, unless the service would reject it. */
const defaultName = (path: string): string | undefined =>
  createUpload.shape.name.safeParse(basename(path)).data;

function readToken(file: Flags[string]): string | undefined {
  if (typeof file !== "string") return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError(`token (--token-file): ${messageOf(error)}`);
  }
}

async function requireFile(file: string): Promise<LocalFile> {
  try {
    const path = await realpath(file);
    const stats = await stat(path);
    if (stats.isDirectory()) {
      throw new SettingsError(
        `${file} is a directory: upload its files, or pack it into an archive (tar, zip)`,
      );
    }
    if (!stats.isFile()) throw new SettingsError(`${file} is not a regular file`);
    if (stats.size === 0) throw new SettingsError(`${file} is empty`);
    await access(path, constants.R_OK);
    return { path, size: stats.size, mtimeMs: stats.mtimeMs };
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw new SettingsError(`${file} cannot be read: ${messageOf(error)}`);
  }
}

const describe = (error: z.ZodError): string =>
  error.issues
    .map(({ path: [key], message }) => {
      const name = String(key);
      return `${name} (${OPTION_SOURCES[name]}): ${message}`;
    })
    .join("\n");
