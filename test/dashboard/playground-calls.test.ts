/** What the playground shows as code; that it does what it says is seen in test/journey/calls.test.ts. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { literal } from "../../src/dashboard/playground/code/literal.ts";
import { codeSamples } from "../../src/dashboard/playground/code/samples.ts";
import type { Json } from "../../src/protocol/common.ts";
import { newCompatibilities } from "../../src/protocol/model.ts";

test("JavaScript writes any JSON so that it means the same", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const value: Json = JSON.parse(json);
      const meant = new Function(`return ${literal(value)}`)();
      expect(JSON.stringify(meant)).toBe(JSON.stringify(value));
    }),
  );
  expect(literal(JSON.parse('{"__proto__": {"a": 1}}'))).toBe('{ ["__proto__"]: { a: 1 } }');
});

test("JavaScript writes JSON as people do", () => {
  expect(literal({ a: [1, { "b-c": null }], d: {} })).toBe('{ a: [1, { "b-c": null }], d: {} }');
  const long = "x".repeat(70);
  expect(literal({ long, list: [] })).toBe(`{\n  long: "${long}",\n  list: [],\n}`);
});

test("each way to call a model is shown for versions that can be called so", () => {
  const run = { origin: "https://auspex.test", model: "demo/it", input: {} };
  const idsWith = (...flags: string[]) => {
    const can = (flag: string) => flags.includes(flag);
    const compatibilities = newCompatibilities.parse({
      vendora_chat_completions: can("chat"),
      vendora_responses: can("responses"),
      vendora_embeddings: can("embeddings"),
      vendora_images_generations: true,
      vendorb_messages: true,
    });
    return codeSamples({ ...run, compatibilities }).map(({ id }) => id);
  };
  expect(idsWith()).toEqual(["curl", "fetch"]);
  expect(idsWith("chat", "responses")).toEqual(["curl", "fetch", "chat", "responses"]);
  expect(idsWith("embeddings")).toEqual(["curl", "fetch", "embeddings"]);
});
