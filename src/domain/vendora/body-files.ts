/** Where the body of a call has files. A server that speaks the convention has no schema that says so. */
import type { Json } from "../../protocol/common.ts";
import type { VendoraCall } from "../../protocol/runner.ts";

const FILE = { type: "string", format: "uri" };

const HEARD = { type: "object", properties: { file: FILE } };

const SCHEMAS: { [Call in VendoraCall]?: Json } = {
  images_edits: {
    type: "object",
    properties: { image: { anyOf: [FILE, { type: "array", items: FILE }] }, mask: FILE },
  },
  audio_transcriptions: HEARD,
  audio_translations: HEARD,
};

/** A JSON Schema of the body, for its files alone; undefined for a call that has none. */
export const bodyFiles = (call: VendoraCall): Json | undefined => SCHEMAS[call];
