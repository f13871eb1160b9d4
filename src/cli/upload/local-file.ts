/** A file of this machine that is to be uploaded. */
import { access, constants, realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import { messageOf } from "../../../runner/src/control-plane/error.ts";
import { typeOfName } from "../../domain/files/media-types.ts";
import { createUpload } from "../../protocol/upload.ts";
import { Misuse } from "../failure.ts";

const UNKNOWN_TYPE = "application/octet-stream";

/** As it is now. */
export interface LocalFile {
  /** Absolute, with symbolic links resolved. */
  path: string;
  size: number;
  mtimeMs: number;
  mimeType: string;
  /** For downloads; undefined if the service would refuse it. */
  name: string | undefined;
}

export interface FileOptions {
  mimeType?: string;
  name?: string;
}

/** @throws Misuse that says what to do */
export async function readLocalFile(file: string, options: FileOptions = {}): Promise<LocalFile> {
  const mimeType = checked("--mime-type", createUpload.shape.mime_type, options.mimeType);
  const name = checked("--name", createUpload.shape.name, options.name);
  return {
    ...(await requireFile(file)),
    mimeType: mimeType ?? typeOfName(file) ?? UNKNOWN_TYPE,
    name: name ?? createUpload.shape.name.safeParse(basename(file)).data,
  };
}

interface Schema {
  safeParse(value: unknown): {
    data?: string | undefined;
    error?: { issues: { message: string }[] } | undefined;
  };
}

function checked(option: string, schema: Schema, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  throw new Misuse(`${option}: ${error?.issues.map(({ message }) => message).join(", ")}`);
}

async function requireFile(file: string): Promise<Pick<LocalFile, "path" | "size" | "mtimeMs">> {
  try {
    const path = await realpath(file);
    const stats = await stat(path);
    if (stats.isDirectory()) {
      throw new Misuse(
        `${file} is a directory: upload its files, or pack it into an archive (tar, zip)`,
      );
    }
    if (!stats.isFile()) throw new Misuse(`${file} is not a regular file`);
    if (stats.size === 0) throw new Misuse(`${file} is empty`);
    await access(path, constants.R_OK);
    return { path, size: stats.size, mtimeMs: stats.mtimeMs };
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw new Misuse(`${file} cannot be read: ${messageOf(error)}`);
  }
}
