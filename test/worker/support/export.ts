/** Reads exports of accounts. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type ExportLine, exportLine } from "../../../src/protocol/export.ts";
import type { Client } from "./client.ts";
import { inAccount } from "./objects.ts";
import type { World } from "./world.ts";

export const EXPORT = "/v1/user/export";

export async function exported(client: Client, path = EXPORT): Promise<string> {
  const response = await client.fetch(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/jsonl");
  return response.text();
}

export const linesIn = (text: string): ExportLine[] => {
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => exportLine.parse(JSON.parse(line)));
};

export const ofType = <Type extends ExportLine["type"]>(lines: ExportLine[], type: Type) =>
  lines.filter((line): line is Extract<ExportLine, { type: Type }> => line.type === type);

export const idsIn = (text: string) =>
  linesIn(text).flatMap((line) => (line.type === "prediction" ? line.prediction.id : []));

/** Adds rows of predictions, older than all others, that share one object. */
export const addRows = ({ user_id }: World, count: number) =>
  inAccount(
    user_id,
    `INSERT INTO predictions (id, object_id, model_id, model_owner, model_name, version_number, stream, status, created_at, updated_at, data_removed, revision)
      SELECT printf('01900000-0000-7000-8000-%012d', value), ?, '01900000-0000-7000-8000-000000000000', 'ada', 'm', 1, 0, 'canceled', 0, 0, 0, 1
      FROM (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?) SELECT value FROM n)`,
    env.PREDICTION.newUniqueId().toString(),
    count,
  );
