/**
 * The package of the command `auspex`, which a deployment serves at /auspex.tgz.
 * On its own: node src/dev/cli-package.ts FOLDER
 */
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
  return packPackage({ folder: CLI, entry: "main.ts", files }, join(folder, "auspex.tgz"));
}

if (import.meta.main) await packCli(process.argv[2] ?? ".");
