/**
 * Values of fields and parameters, in addition to what their schemas allow: mostly names of existing things.
 */
import fc from "fast-check";
import type { InlineSchema } from "../../../../src/openapi/types.ts";
import { addressOf } from "../receiver.ts";
import type { Harvest } from "./harvest.ts";

/** A text with the names of path parameters, which are replaced by known values when it is sent. */
export class Known {
  readonly #template: string;
  readonly #nth: number;
  readonly #harvest: Harvest;

  constructor(template: string, nth: number, harvest: Harvest) {
    this.#template = template;
    this.#nth = nth;
    this.#harvest = harvest;
  }

  toString(): string {
    const place = this.#harvest.place(namesIn(this.#template), this.#nth) ?? {};
    return this.#template.replaceAll(PARAMETER, (_, name) => place[name] ?? "unknown");
  }

  toJSON = () => this.toString();
}

export const PARAMETER = /{(\w+)}/g;

export const namesIn = (template: string): string[] =>
  [...template.matchAll(PARAMETER)].map(([, name = ""]) => name);

const MODELS = ["{model_owner}/{model_name}", "{model_owner}/{model_name}:{version_number}"];

const TEMPLATES: Record<string, string[]> = {
  category_slugs: ["{slug}"],
  hardware: ["{identifier}"],
  hardware_identifier: ["{identifier}"],
  models: ["{model_owner}/{model_name}"],
  owner: ["{username}"],
  prediction_id: ["{prediction_id}"],
};

const numbered = (name: string) => Array.from({ length: 40 }, (_, n) => `${name}-${n}`);

const VALUES: Record<string, unknown[]> = {
  // No value waits, so that requests are quick.
  prefer: ["wait=0", "wait=0, cancel", "respond-async", "cancel, wait=0"],
  "idempotency-key": numbered("key"),
  "last-event-id": ["0", "1", "2", "99", "999999999999999"],
  range: ["bytes=0-0", "bytes=0-", "bytes=-1", "bytes=99999999-", "bytes=1-0", "bytes=-0"],
  // An ID that does not exist would have nothing behind it.
  after: [undefined],
  background: [true, true, false, null],
  // A made-up ID never exists, and no response would begin.
  previous_response_id: [undefined],
  after_id: ["0", "1", "2", "99", "999999999999999"],
  sort_by: ["created_at", "predictions_count"],
  output: [{}, { type: "string" }],
  origins: ["https://app.example.com", "http://localhost:8000"],
  networks: ["203.0.113.0/24", "2001:db8::/32"],
  // Cursors of answers are requested with their whole address.
  cursor: [undefined],
  // Images of other registries are refused.
  image: [undefined],
  // The small sizes are sent quickly; the largest has two parts.
  size: [1, 2, 1_000, 20_000, 17_000_000],
  // The address of a receiver of webhooks that accepts them all.
  url: [addressOf("/fuzz")],
  // Most values of these are refused: accounts may keep no containers running.
  min_instances: [0, 0, 0, 1],
  max_instances: [0, 2, 100],
  version: [undefined, 1],
  // The names are few, so that some are already taken.
  name: numbered("name"),
  variable_name: ["HF_TOKEN", "API_KEY"],
  // The value of a variable is in no answer, like secrets of webhooks.
  value: ["whsec_of-a-variable"],
  username: numbered("name"),
};

/** Inputs of predictions and schemas of versions. Invalid schemas would refuse nearly every version. */
const INPUTS = [{}, { text: "a" }, { type: "object", properties: { text: { type: "string" } } }];

const PICTURE = "data:image/png;base64,aGk=";

/** @param callable a model that answers all calls */
export function knownFields(harvest: Harvest, callable: string) {
  const known = (...templates: string[]) =>
    fc
      .tuple(fc.constantFrom(...templates), fc.nat(100))
      .map(([template, nth]) => new Known(template, nth, harvest));
  const files = known("/v1/uploads/{upload_id}", "/v1/files/{source_id}/{file_name}");
  return (field: string, { anyOf, type }: InlineSchema): fc.Arbitrary<unknown> | undefined => {
    const isText = [type].flat().includes("string");
    // The `input` with `anyOf` is that of a call, not of a prediction or a version.
    if (field === "input" && anyOf) return fc.constantFrom("a", "a", ["a"]);
    // The `size` that is a text is that of a picture, not of an upload or a configuration.
    if (field === "size" && isText) return fc.constantFrom("512x512", "auto", null);
    if (field === "image" && anyOf) return fc.constantFrom(undefined, undefined, PICTURE);
    if (field === "images") return fc.constantFrom(PICTURE, { image_url: PICTURE });
    if (field === "background" && isText) return fc.constantFrom("auto", null);
    if (field === "input") return fc.oneof(fc.constantFrom(...INPUTS), fc.record({ file: files }));
    if (field === "model") return fc.oneof(known(...MODELS), fc.constant(callable));
    const templates = TEMPLATES[field];
    if (templates) return known(...templates);
    const values = VALUES[field];
    return values && fc.constantFrom(...values);
  };
}
