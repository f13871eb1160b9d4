/** The models of the tests, together with the example models. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listModels, type ModelFolder } from "../../runner/src/engines/process/model-folder.ts";
import { ROOT } from "../../src/dev/bundle.ts";
import { copyExample, copyExamples, EXAMPLES } from "../../src/dev/examples.ts";

export const TEST_MODELS = join(ROOT, "test/models");

/** Writes one complete model of the tests or of the examples into the folder. */
export const copyModel = (name: string, folder: string): Promise<void> =>
  copyExample(name, folder, existsSync(join(TEST_MODELS, name)) ? TEST_MODELS : EXAMPLES);

/** Writes the models of the examples and of the tests into folders of their names. */
export async function copyModels(folder: string): Promise<void> {
  await copyExamples(folder);
  await copyExamples(folder, TEST_MODELS);
}

/** @returns the models of the examples and of the tests, by name */
export const listAllModels = async (): Promise<ModelFolder[]> =>
  [...(await listModels(EXAMPLES)), ...(await listModels(TEST_MODELS))].sort((a, b) =>
    a.manifest.name < b.manifest.name ? -1 : 1,
  );
