/** The input of a remote call, as the host gets it. */
import { dataUri } from "../../domain/files/data-uri.ts";
import { replaceText } from "../../domain/files/input-files.ts";
import { HEADER_BYTES, wavSeconds } from "../../domain/files/wav.ts";
import { fileFields } from "../../domain/openai/call.ts";
import { type Bindings, settings } from "../../env.ts";
import { base64Of } from "../../lib/buffer.ts";
import { markedName, parseExact } from "../../lib/exact-json.ts";
import { isFields } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { internal } from "../../run/failure.ts";
import type { InputFile } from "../../run/openai/form.ts";
import { database } from "../../storage/database.ts";
import { factsOf, getFile, headFile, valueKey } from "../../storage/files/files.ts";
import { signFileUrl } from "../../storage/files/signed-file-urls.ts";
import type { RemoteOrder } from "../stubs/remote.ts";

/** How long the host can fetch the files of an input. */
const URL_MS = 3_600_000;

interface StoredFile extends InputFile {
  /** Returns the duration of a WAV file; null for any other. */
  seconds(): Promise<number | null>;
}

export interface RemoteInput {
  input: Record<string, Json>;
  /** The files that are sent in a form, by the text that stands for them in the input. */
  files: ReadonlyMap<string, StoredFile>;
}

/**
 * Reads the input. Files become parts of the form, if the call is one, or else URLs that the host can fetch, or the
 * data URIs as which they were sent.
 */
export async function readInput(
  env: Bindings,
  { spec, input: piece }: RemoteOrder,
): Promise<RemoteInput> {
  const text =
    typeof piece === "string" ? piece : await storedText(env, valueKey(spec.id, piece.name));
  let input = parseExact(text);
  const parts = (spec.call && fileFields(spec.call)) ?? [];
  const files = new Map<string, StoredFile>();
  const addressOf = async (field: string, { key, data_uri, mime_type }: Sent) => {
    if (parts.includes(field)) {
      files.set(key, await storedFile(env, key));
      return key;
    }
    const { origin } = new URL(spec.url);
    return data_uri
      ? dataUri(mime_type, base64Of(await storedBytes(env, key)))
      : signFileUrl(settings(env), database(env.DB), origin, key, Date.now() + URL_MS);
  };
  for (const { at, stored } of spec.files) {
    if (!stored) continue;
    const place = at.map((step) => (typeof step === "string" ? markedName(step) : step));
    input = replaceText(input, place, await addressOf(`${at[0]}`, stored));
  }
  if (!isFields(input)) throw internal("the input is no object");
  return { input, files };
}

interface Sent {
  key: string;
  data_uri?: boolean | undefined;
  mime_type: string;
}

const GONE = "a file of the input is gone";

/** The file is read while it is sent: it may be larger than the memory. */
async function storedFile({ FILES }: Bindings, key: string): Promise<StoredFile> {
  const found = await headFile(FILES, key);
  if (!found) throw internal(GONE);
  const { name, mime_type } = factsOf(found);
  const { size } = found;
  return {
    ...{ name, mime_type, size },
    async *content() {
      const file = await getFile(FILES, key);
      if (!file) throw internal(GONE);
      yield* file.body;
    },
    async seconds() {
      const head = await getFile(FILES, key, { range: { offset: 0, length: HEADER_BYTES } });
      if (!head) return null;
      return wavSeconds(new Uint8Array(await head.arrayBuffer()), size) ?? null;
    },
  };
}

const storedText = async (env: Bindings, key: string) =>
  new TextDecoder().decode(await storedBytes(env, key));

async function storedBytes({ FILES }: Bindings, key: string): Promise<Uint8Array> {
  const found = await getFile(FILES, key);
  if (!found) throw internal(GONE);
  return new Uint8Array(await found.arrayBuffer());
}
