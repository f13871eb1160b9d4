/** `auspex init`: a folder with a small model that can be published as it is. */

import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isCancel, select } from "@clack/prompts";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { slug } from "../../protocol/common.ts";
import { Failure, Interrupted, Misuse } from "../failure.ts";
import { FOLDER, makeFolder } from "../folders.ts";
import { choice } from "../options.ts";
import { MANIFEST } from "../publish/project.ts";
import { type Host, newCommand, openSession } from "../session.ts";
import { isInteractive, quotedPath } from "../ui/output.ts";

export const TEMPLATES = {
  cog: "Python, with Cog",
  node: "JavaScript, with Node",
  vllm: "a language model, with vLLM on a GPU",
  "llama-cpp": "a language model in GGUF, with llama.cpp",
} as const;

export type Template = keyof typeof TEMPLATES;

export const TEMPLATE_NAMES: Template[] = ["cog", "node", "vllm", "llama-cpp"];

const MORE = `\nTemplates:\n${TEMPLATE_NAMES.map((name) => `  ${name.padEnd(10)} ${TEMPLATES[name]}`).join("\n")}`;

export const initCommand = (host: Host) =>
  newCommand("init", "Write a small model to start from")
    .argument("[folder]", "where to write it; its name becomes the model's", ".")
    .option("--template <name>", TEMPLATE_NAMES.join(", "), choice(TEMPLATE_NAMES))
    .addHelpText("after", MORE)
    .action(async (folder, options) => {
      const { output } = openSession(host, options);
      const template = options.template ?? (await askTemplate());
      const { files, name } = await writeTemplate(template, folder);
      const own = name === basename(resolve(folder)) ? "" : ` The model's name is ${name}.`;
      const [where, next] =
        folder === "."
          ? ["this folder", "auspex publish"]
          : [folder, `auspex publish ${quotedPath(folder)}`];
      output.result(`Wrote ${files.join(", ")} into ${where}.${own} Next: ${next}`, {
        folder,
        name,
        template,
        files,
      });
    });

async function askTemplate(): Promise<Template> {
  if (!isInteractive())
    throw new Misuse(`Name a template with --template: ${TEMPLATE_NAMES.join(", ")}.`);
  const chosen = await select<Template>({
    message: "Start from",
    options: TEMPLATE_NAMES.map((value) => ({ value, label: value, hint: TEMPLATES[value] })),
    output: process.stderr,
  });
  if (isCancel(chosen)) throw new Interrupted("SIGINT");
  return chosen;
}

/** “Bad Name!” → bad-name. @returns undefined where letters would be lost, as of “日本” */
export function modelNameOf(folder: string): string | undefined {
  // Accents are no letters of their own.
  const text = folder.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  if (/(?![a-z0-9])[\p{L}\p{N}]/u.test(text)) return undefined;
  const name = text
    .replace(/[^a-z0-9]+/g, (between) => (SEPARATOR.test(between) ? between : "-"))
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "");
  return slug.safeParse(name).success ? name : undefined;
}

const SEPARATOR = /^(?:\.|_{1,2}|-+)$/;

export interface Written {
  files: string[];
  /** The model's name, derived from that of the folder. */
  name: string;
}

/** Writes a model into a folder. @throws Failure if the folder has one; Misuse for an invalid name */
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
