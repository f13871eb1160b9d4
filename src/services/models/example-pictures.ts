import { ownFileName, stringsOf } from "../../domain/models/example-content.ts";
import type { Json } from "../../protocol/common.ts";
import { factsOf, fileKey, headFile } from "../../storage/files/files.ts";
import { type ExampleRow, listExamples, type Pictured } from "../../storage/models/examples.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Services } from "../services.ts";

/** Returns the key of the first picture in the example's output. */
export async function pictureIn({ env }: Services, row: ExampleRow): Promise<string | undefined> {
  for (const key of keysIn(row)) {
    const file = await headFile(env.FILES, key);
    if (file && file.size <= MAX_BYTES && PICTURE.test(factsOf(file).mime_type)) return key;
  }
  return undefined;
}

/** Returns the picture of the first example that has one. @param without an example that is being removed */
export async function firstPicture(
  services: Services,
  modelId: string,
  without: string,
): Promise<Pictured | undefined> {
  for (const row of await listExamples(services.db, modelId)) {
    const key = row.id === without ? undefined : await pictureIn(services, row);
    if (key !== undefined) return { id: row.id, key };
  }
  return undefined;
}

export const isCoverOf = ({ cover_key }: Pick<DetailedModelRow, "cover_key">, id: string) =>
  cover_key?.startsWith(`${id}/`) === true;

/** The largest picture: each visitor of the gallery loads it. */
const MAX_BYTES = 4 * 1024 * 1024;

const PICTURE = /^image\/(?:png|jpeg|webp|gif|avif)$/;

const keysIn = ({ id, output }: ExampleRow) =>
  ownFilesIn(id, output).map((text) => fileKey(id, ownFileName(id, text) ?? ""));

export const ownFilesIn = (id: string, value: Json) =>
  [...stringsOf(value)].filter((text) => ownFileName(id, text) !== undefined);
