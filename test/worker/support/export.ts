/** Reads exports of accounts. */
import { expect } from "vitest";
import { type ExportLine, exportLine } from "../../../src/protocol/export.ts";
import type { Client } from "./client.ts";

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
