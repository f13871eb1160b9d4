/** The input of a remote call, as the host gets it. */
import { dataUri } from "../../domain/files/data-uri.ts";
import { replaceText } from "../../domain/files/input-files.ts";
import { type Bindings, settings } from "../../env.ts";
import { base64Of } from "../../lib/buffer.ts";
import { markedName, parseExact } from "../../lib/exact-json.ts";
import { isFields } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { internal } from "../../run/failure.ts";
import { database } from "../../storage/database.ts";
import { getFile, valueKey } from "../../storage/files/files.ts";
import { signFileUrl } from "../../storage/files/signed-file-urls.ts";
import type { RemoteOrder } from "../stubs/remote.ts";

/** How long the host can fetch the files of an input. */
const URL_MS = 3_600_000;

/** Reads the input. Files become URLs that the host can fetch, or the data URIs as which they were sent. */
export async function readInput(
  env: Bindings,
  { spec, input: piece }: RemoteOrder,
): Promise<Record<string, Json>> {
  const text =
    typeof piece === "string" ? piece : await storedText(env, valueKey(spec.id, piece.name));
  let input = parseExact(text);
  for (const { at, stored } of spec.files) {
    if (!stored) continue;
    const { key, data_uri, mime_type } = stored;
    const place = at.map((step) => (typeof step === "string" ? markedName(step) : step));
    const { origin } = new URL(spec.url);
    const address = data_uri
      ? dataUri(mime_type, base64Of(await storedBytes(env, key)))
      : await signFileUrl(settings(env), database(env.DB), origin, key, Date.now() + URL_MS);
    input = replaceText(input, place, address);
  }
  if (!isFields(input)) throw internal("the input is no object");
  return input;
}

const storedText = async (env: Bindings, key: string) =>
  new TextDecoder().decode(await storedBytes(env, key));

async function storedBytes({ FILES }: Bindings, key: string): Promise<Uint8Array> {
  const found = await getFile(FILES, key);
  if (!found) throw internal("a file of the input is gone");
  return new Uint8Array(await found.arrayBuffer());
}
