/**
 * The folders of all models, made once for a run of the project: each box has a copy. To write and to hash them
 * takes 0.2 s of a processor, and tests open 250 boxes.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { listModels } from "../../../runner/src/engines/process/model-folder.ts";
import { copyModels } from "../../support/models.ts";

declare module "vitest" {
  interface ProvidedContext {
    models: { folder: string; digests: [name: string, digest: string][] };
  }
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default async function setup({ provide }: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "auspex-models-"));
  await copyModels(folder);
  addModel(folder, "liar", here("../models/liar.mjs"));
  addModel(folder, "files", here("../models/files.mjs"));
  addModel(folder, "server", here("../models/server.mjs"), "vendora");
  const models = await listModels(folder);
  const digests = models.map(({ manifest, digest }): [string, string] => [manifest.name, digest]);
  provide("models", { folder, digests });
  return () => rmSync(folder, { recursive: true });
}

/** Variables that the models of these tests take; the engine always sets PORT. */
const VARIABLES = [
  "DECLARES",
  "INPUTS",
  "ITERATOR",
  "PORT",
  "SETUP",
  "SETUP_LOGS",
  "STYLE",
  "WEBHOOK_AUTH_TOKEN",
];

export function addModel(models: string, name: string, script: string, kind = "cog"): void {
  const folder = join(models, name);
  mkdirSync(folder, { recursive: true });
  cpSync(script, join(folder, "model.mjs"));
  const schemas = { prediction: { input: {}, output: {} } };
  const configuration = { variable_names: VARIABLES };
  const manifest = {
    name,
    interface: kind,
    command: ["node", "model.mjs"],
    schemas,
    configuration,
  };
  writeFileSync(join(folder, "auspex.json"), JSON.stringify(manifest));
}
