/** Rows and images of models whose content the registry releases. */
import { run } from "./accounts.ts";
import type { Repository } from "./registry.ts";

export const TABLES = [
  "registry_tags",
  "registry_links",
  "registry_manifests",
  "registry_released",
];

export async function rowsOf(modelId: string): Promise<Record<string, number>> {
  const counts = await Promise.all(
    TABLES.map(async (table) => {
      const [row] = await run(`SELECT count(*) AS n FROM ${table} WHERE model_id = ?`, modelId);
      return [table.replace("registry_", ""), Number(row?.n)] as const;
    }),
  );
  return Object.fromEntries(counts);
}

export const marked = async (modelId: string) => {
  const counts = ["registry_links", "registry_manifests"].map(async (table) => {
    const statement = `SELECT count(*) AS n FROM ${table} WHERE model_id = ? AND used_at = 0`;
    return Number((await run(statement, modelId))[0]?.n);
  });
  return Promise.all(counts);
};

export const modelOf = async ({ client, name }: Repository) =>
  (await client.ok<{ id: string }>("GET", `/v1/models/${name}`)).id;

/** Pushes images with a tag, a layer and a configuration each. */
export async function imagesOf(repository: Repository, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await repository.pushImage(`v${n}`);
}
