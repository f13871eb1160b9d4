/** Secret fields of an input, and other fields that are not shown. */
import { expect, test } from "vitest";
import {
  hiddenFieldsOf,
  type IsSecret,
  secretFieldsOf,
  withMasks,
  withoutHidden,
  withoutSecrets,
} from "../../../src/domain/schemas/secret-fields.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { processorMs } from "../../support/processor-time.ts";

const among = (isSecret: IsSecret, ...names: string[]) => names.filter((name) => isSecret(name));
const secretAmong = (schema: Json, ...names: string[]) => among(secretFieldsOf(schema), ...names);

test("a field is secret if the schema marks it anywhere within it", () => {
  const schema: Json = {
    properties: {
      prompt: { type: "string" },
      login: { type: "string", format: "password" },
      hidden: { "x-cog-secret": true },
      written: { writeOnly: true },
      nested: { properties: { inner: { items: { format: "password" } } } },
      union: {
        anyOf: [{ type: "number" }, { type: "object", properties: { a: { format: "password" } } }],
      },
      referred: { $ref: "#/$defs/Account" },
      loop: { $ref: "#/properties/loop" },
    },
    $defs: { Account: { allOf: [{ properties: { pin: { format: "password" } } }] } },
  };
  expect(
    secretAmong(
      schema,
      "prompt",
      "login",
      "hidden",
      "written",
      "nested",
      "union",
      "referred",
      "loop",
    ),
  ).toEqual(["login", "hidden", "written", "nested", "union", "referred"]);
  // An unknown name counts as secret, because it is not known which part of the schema describes it.
  expect(secretAmong(schema, "unknown")).toEqual(["unknown"]);
});

test("a field with the name of a secret is hidden, also without a schema", () => {
  const names = ["api_key", "hf_token", "client_secret", "password", "max_tokens", "prompt"];
  expect(among(hiddenFieldsOf({}), ...names)).toEqual(names.slice(0, 4));
  expect(secretAmong({}, ...names)).toEqual([]);
});

test("a secret field is masked or left out", () => {
  const isSecret = secretFieldsOf({ properties: { key: { writeOnly: true }, prompt: {} } });
  const input = JSON.parse('{"key": "k", "prompt": "p", "__proto__": 1}');
  expect(JSON.stringify(withMasks(input, isSecret))).toBe(
    '{"key":"••••••••","prompt":"p","__proto__":"••••••••"}',
  );
  expect(withMasks(["key"], isSecret)).toEqual(["key"]);
  expect(withoutSecrets(input, isSecret)).toEqual({ input: { prompt: "p" }, left: true });
  expect(withoutSecrets({ prompt: "p" }, isSecret).left).toBe(false);
});

test("a field with the name of a secret hides its value, however deep it is", () => {
  const input = {
    prompt: "p",
    api_key: "k",
    tools: [{ url: "https://a.test", headers: { Authorization: "Bearer k", accept: "*/*" } }],
  };
  expect(withoutHidden(input, hiddenFieldsOf({}))).toEqual({
    prompt: "p",
    tools: [{ url: "https://a.test", headers: { accept: "*/*" } }],
  });
  let deep: Json = "k";
  for (let n = 0; n < 5_000; n++) deep = [deep];
  expect(JSON.stringify(withoutHidden({ deep }, () => false))).toBe(
    `{"deep":${"[".repeat(100)}null${"]".repeat(100)}}`,
  );
});

test("a schema that leads everywhere from each of its fields is not searched once for each", () => {
  const wide = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`w${n}`, {}]));
  const names = Array.from({ length: 3_000 }, (_, n) => `f${n}`);
  const fields = Object.fromEntries(names.map((name) => [name, { $ref: "#/$defs/Wide" }]));
  const begun = processorMs();
  expect(
    secretAmong({ properties: fields, $defs: { Wide: { properties: wide } } }, ...names),
  ).toEqual([]);
  expect(processorMs() - begun).toBeLessThan(1_000);
});
