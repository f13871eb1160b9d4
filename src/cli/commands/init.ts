/** `auspex init`: a folder with a small model that can be published as it is. */

import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { text as askText, select } from "@clack/prompts";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { slug } from "../../protocol/common.ts";
import { readAccess } from "../access.ts";
import { Failure, Interrupted, Misuse } from "../failure.ts";
import { FOLDER, makeFolder } from "../folders.ts";
import { choice } from "../options.ts";
import { MANIFEST } from "../publish/project.ts";
import { chooseHardware } from "../publish/version.ts";
import { Service } from "../service/service.ts";
import { type Host, newCommand, openSession } from "../session.ts";
import { answered, isInteractive, prompt, quotedPath } from "../ui/output.ts";

export const TEMPLATES = {
  cog: "Python with Cog",
  node: "JavaScript with Node",
  vllm: "language model with vLLM, on a GPU",
  "llama-cpp": "GGUF language model with llama.cpp",
} as const;

export type Template = keyof typeof TEMPLATES;

export const TEMPLATE_NAMES: Template[] = ["cog", "node", "vllm", "llama-cpp"];

const MORE = `\nTemplates:\n${TEMPLATE_NAMES.map((name) => `  ${name.padEnd(10)} ${TEMPLATES[name]}`).join("\n")}`;

export const initCommand = (host: Host) =>
  newCommand("init", "Create a model from a template")
    .argument("[folder]", "folder to create; its name becomes the model's (default: this folder)")
    .option("--template <name>", TEMPLATE_NAMES.join(", "), choice(TEMPLATE_NAMES))
    .option("--hardware <class>", "hardware class to publish for (list them with auspex hardware)")
    .addHelpText("after", MORE)
    .action(async (given, options) => {
      const { output, ...session } = openSession(host, options);
      const asks = isInteractive() && !output.json;
      const folder = given ?? (asks ? await askFolder() : ".");
      const template = options.template ?? (await askTemplate(asks));
      const hardware = options.hardware ?? (asks ? await askHardware(session, folder) : undefined);
      const { files, name } = await writeTemplate(template, folder, hardware);
      const own = name === basename(resolve(folder)) ? "" : ` The model's name is ${name}.`;
      const [where, next] =
        folder === "."
          ? ["this folder", "auspex publish"]
          : [folder, `auspex publish ${quotedPath(folder)}`];
      output.result(`Created ${files.join(", ")} in ${where}.${own} Next: ${next}`, {
        folder,
        name,
        template,
        files,
      });
    });

/** @returns this folder, or a new one in it with the model's name */
async function askFolder(): Promise<string> {
  const here = modelNameOf(basename(resolve("."))) ?? "story";
  const name = answered(
    await askText({
      ...prompt,
      message: "Model name (a new folder is created unless it is this folder's name)",
      initialValue: here,
      validate: (typed) => (slug.safeParse(typed).success ? undefined : "Invalid model name"),
    }),
  );
  return name === here ? "." : name;
}

async function askTemplate(asks: boolean): Promise<Template> {
  if (!asks)
    throw new Misuse(`Missing template. Pass --template with one of ${TEMPLATE_NAMES.join(", ")}.`);
  return answered(
    await select<Template>({
      ...prompt,
      message: "Template",
      options: TEMPLATE_NAMES.map((value) => ({ value, label: value, hint: TEMPLATES[value] })),
    }),
  );
}

/** @returns undefined without a login, and where there is no choice: publish asks for it again */
async function askHardware(host: Host, folder: string): Promise<string | undefined> {
  const access = await readAccess({}, host.environment, host.folders).catch(() => undefined);
  if (!access) return undefined;
  const service = new Service(access, { signal: host.signal, onRetry: () => {} });
  const model = basename(resolve(folder));
  return chooseHardware(service, { model, isInteractive: true }).catch((error: unknown) => {
    if (error instanceof Interrupted) throw error;
    host.signal.throwIfAborted();
    return undefined;
  });
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
export async function writeTemplate(
  template: Template,
  path: string,
  hardware?: string,
): Promise<Written> {
  const folder = resolve(path);
  const name = modelNameOf(basename(folder));
  if (name === undefined)
    throw new Misuse(
      `Invalid model name "${basename(folder)}": use the letters a to z and digits. Choose another folder: auspex init story`,
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
      await writeFile(target, file === MANIFEST ? named(text, name, hardware) : text);
    } catch (error) {
      throw new Failure(
        `Can't write to ${path}: ${messageOf(error)}\nChoose another folder: auspex init NAME`,
      );
    }
  }
  return { files, name };
}

function named(manifest: string, name: string, hardware: string | undefined): string {
  const own = hardware === undefined ? "" : `,\n  "hardware": ${JSON.stringify(hardware)}`;
  return manifest.replace(/"name": "[^"]*"/, () => `"name": "${name}"${own}`);
}
