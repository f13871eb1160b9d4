/** The credentials that `auspex login` keeps: one deployment, in a file that only its owner reads. */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Folders } from "../state/folders.ts";

const credentials = z.object({ url: z.url(), token: z.string(), username: z.string() });
export type Credentials = z.infer<typeof credentials>;

export const credentialsFile = ({ config }: Folders): string => join(config, "credentials.json");

/** Undefined if there are none, or the file is damaged. */
export async function loadCredentials(folders: Folders): Promise<Credentials | undefined> {
  const text = await readFile(credentialsFile(folders), "utf8").catch(() => "");
  try {
    return credentials.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export async function saveCredentials(folders: Folders, one: Credentials): Promise<void> {
  const file = credentialsFile(folders);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // A new file: the mode of one that exists would stay as it is.
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${JSON.stringify(one, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(draft, file);
}

/** @returns whether there was anything */
export async function removeCredentials(folders: Folders): Promise<boolean> {
  try {
    await rm(credentialsFile(folders));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
