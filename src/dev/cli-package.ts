/**
 * The package of the command `auspex`, which a deployment serves at /auspex.tgz.
 * On its own: node src/dev/cli-package.ts FOLDER
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { PackageSummary } from "../protocol/assets.ts";
import { ROOT } from "./bundle.ts";
import { packPackage } from "./node-package.ts";

const CLI = join(ROOT, "src/cli");

/** Writes the package into the folder. */
export async function packCli(folder: string): Promise<PackageSummary> {
  const files: [path: string, source: string][] = [
    ["README.md", join(CLI, "README.md")],
    ["LICENSE", join(ROOT, "LICENSE")],
  ];
  const templates = join(CLI, "templates");
  for (const entry of await readdir(templates, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const source = join(entry.parentPath, entry.name);
    files.push([source.slice(CLI.length + 1), source]);
  }
  files.sort(([a], [b]) => (a < b ? -1 : 1));
  return packPackage({ folder: CLI, entry: "main.ts", files }, join(folder, "auspex.tgz"));
}

if (import.meta.main) await packCli(process.argv[2] ?? ".");
