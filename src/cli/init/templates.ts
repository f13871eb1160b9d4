/** What a model can begin as: folders beside the script. */
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf } from "../../../runner/src/control-plane/error.ts";
import { Failure, Misuse } from "../failure.ts";
import { FOLDER } from "../package.ts";
import { MANIFEST } from "../publish/project.ts";
import { makeFolder } from "../state/make-folder.ts";
import { modelNameOf } from "./model-name.ts";

export const TEMPLATES = {
  cog: "Python, with Cog",
  node: "JavaScript, with Node",
  vllm: "a language model, with vLLM on a GPU",
  "llama-cpp": "a language model in GGUF, with llama.cpp",
} as const;

export type Template = keyof typeof TEMPLATES;

export const TEMPLATE_NAMES: Template[] = ["cog", "node", "vllm", "llama-cpp"];

export interface Written {
  /** The paths of its files. */
  files: string[];
  /** What the model is called: as the folder, or nearly so. */
  name: string;
}

/** Writes one into a folder. @throws Failure if one is there; Misuse if no model can be called so */
export async function writeTemplate(template: Template, path: string): Promise<Written> {
  const folder = resolve(path);
  const name = modelNameOf(basename(folder));
  if (name === undefined)
    throw new Misuse(
      `“${basename(folder)}” cannot be made the name of a model, which has the letters a to z and digits. Choose another folder: auspex init story`,
    );
  const source = join(FOLDER, "templates", template);
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(source.length + 1))
    .sort();
  const there = await Promise.all(
    files.map((file) => stat(join(folder, file)).catch(() => undefined)),
  );
  const taken = files.filter((_, index) => there[index] !== undefined);
  if (taken.length > 0)
    throw new Failure(
      `${folder} already has ${taken.join(", ")}. Choose another folder: auspex init NAME`,
    );
  for (const file of files) {
    const target = join(folder, file);
    const text = await readFile(join(source, file), "utf8");
    try {
      await makeFolder(dirname(target));
      await writeFile(target, file === MANIFEST ? named(text, name) : text);
    } catch (error) {
      throw new Failure(
        `${path} cannot be written: ${messageOf(error)}\nChoose another folder: auspex init NAME`,
      );
    }
  }
  return { files, name };
}

const named = (manifest: string, name: string): string =>
  manifest.replace(/"name": "[^"]*"/, `"name": "${name}"`);
