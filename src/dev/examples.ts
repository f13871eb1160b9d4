/**
 * The example models as complete folders. The repository keeps files that several of them use once,
 * in `shared`; the `shared.json` of each folder lists the ones it needs.
 * On its own: node src/dev/examples.ts FOLDER
 */
import { cp, mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { filesOf } from "../../runner/src/engines/process/model-folder.ts";
import { ROOT } from "./bundle.ts";

export const EXAMPLES = join(ROOT, "runner/examples");
export const SHARED = join(EXAMPLES, "shared");
const LIST = "shared.json";

const list = z.array(z.string());

export async function exampleNames(root = EXAMPLES): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return folders.filter((name) => name !== "shared").sort();
}

export async function exampleFiles(
  name: string,
  root = EXAMPLES,
): Promise<[path: string, source: string][]> {
  const folder = join(root, name);
  const own = (await filesOf(folder)).filter((path) => path !== LIST);
  const shared = list.parse(JSON.parse(await readFile(join(folder, LIST), "utf8")));
  return [
    ...own.map((path): [string, string] => [path, join(folder, path)]),
    ...shared.map((path): [string, string] => [path, join(SHARED, path)]),
  ].sort(([a], [b]) => (a < b ? -1 : 1));
}

export async function copyExample(name: string, folder: string, root = EXAMPLES): Promise<void> {
  for (const [path, source] of await exampleFiles(name, root)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(source, join(folder, path));
  }
}

export async function copyExamples(folder: string, root = EXAMPLES): Promise<void> {
  for (const name of await exampleNames(root)) await copyExample(name, join(folder, name), root);
}

if (import.meta.main) {
  const [, , folder] = process.argv;
  if (folder === undefined) {
    console.error("Missing folder. Run npm run examples -- /tmp/models");
    process.exit(2);
  }
  await copyExamples(folder);
  console.log(`Wrote ${(await exampleNames()).join(", ")} into ${folder}`);
}
