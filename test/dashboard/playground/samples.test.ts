/** Code samples of the playground; test/journey/calls.nightly.test.ts runs them. */
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { literal } from "../../../src/dashboard/playground/code/literal.ts";
import { codeSamples } from "../../../src/dashboard/playground/code/samples.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { type Compatibilities, newCompatibilities } from "../../../src/protocol/model.ts";

test("JavaScript writes any JSON with the same meaning", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const value: Json = JSON.parse(json);
      const meant = new Function(`return ${literal(value)}`)();
      expect(JSON.stringify(meant)).toBe(JSON.stringify(value));
    }),
  );
  expect(literal(JSON.parse('{"__proto__": {"a": 1}}'))).toBe('{ ["__proto__"]: { a: 1 } }');
});

test("JavaScript writes JSON like people do", () => {
  expect(literal({ a: [1, { "b-c": null }], d: {} })).toBe('{ a: [1, { "b-c": null }], d: {} }');
  const long = "x".repeat(70);
  expect(literal({ long, list: [] })).toBe(`{\n  long: "${long}",\n  list: [],\n}`);
});

test("each call that a version supports has a code sample in each language", () => {
  const run = { origin: "https://auspex.test", model: "demo/it", input: {}, streams: false };
  const titlesWith = (...flags: (keyof Compatibilities)[]) => {
    const on = Object.fromEntries(flags.map((flag) => [flag, true]));
    const samples = codeSamples({ ...run, compatibilities: newCompatibilities.parse(on) });
    const titles = [...new Set(samples.map(({ title }) => title))];
    expect(samples.map(({ language }) => language)).toEqual(
      titles.flatMap(() => ["python", "js", "curl", "http"]),
    );
    return titles;
  };
  expect(titlesWith()).toEqual(["Predictions"]);
  expect(titlesWith("vendora_chat_completions", "vendora_responses")).toEqual([
    "OpenAI chat",
    "OpenAI responses",
    "Anthropic messages",
    "Predictions",
  ]);
  expect(titlesWith("vendorb_messages")).toEqual(["Predictions", "Anthropic messages"]);
  expect(titlesWith("vendora_images_generations", "vendora_images_edits")).toEqual([
    "Predictions",
    "OpenAI images",
    "OpenAI image edits",
  ]);
  expect(titlesWith("vendora_audio_speech", "vendora_audio_transcriptions")).toEqual([
    "Predictions",
    "OpenAI speech",
    "OpenAI transcriptions",
  ]);
});

test("a terminal shows the address of a picture, and other clients save its bytes", () => {
  const compatibilities = newCompatibilities.parse({
    vendora_images_generations: true,
    vendora_images_edits: true,
  });
  const run = {
    ...{ origin: "https://auspex.test", model: "demo/it", input: {}, streams: false },
    compatibilities,
  };
  for (const { id, language, code } of codeSamples(run)) {
    if (id.startsWith("predictions")) continue;
    const isPlain = language === "curl" || language === "http";
    const [wanted, other] = isPlain ? ["url", "b64_json"] : ["b64_json", '"url"'];
    expect(code).toContain(wanted);
    expect(code).not.toContain(other);
  }
});

const HOSTILE = [
  "$(echo HACKED)",
  "`echo HACKED`",
  "x; echo HACKED",
  "x'; echo HACKED; '",
  'x"; echo HACKED; "',
  "x\necho HACKED",
  "x' \\\necho HACKED #",
  "'''\necho HACKED\n'''",
  "x\\",
  "</script>",
];

test("no text of an input runs in a shell, or names a file that a sample writes", () => {
  const flags = Object.keys(newCompatibilities.parse({})).map((flag) => [flag, true]);
  const compatibilities = newCompatibilities.parse(Object.fromEntries(flags));
  const fields = ["prompt", "text", "voice", "response_format", "size", "language", "x'; echo 1 '"];
  for (const text of HOSTILE) {
    const input = Object.fromEntries(fields.map((name) => [name, text]));
    const run = { origin: "https://auspex.test", model: "demo/it", input, compatibilities };
    for (const { id, language, code } of codeSamples({ ...run, streams: true })) {
      if (id.startsWith("speech") && language !== "http") expect(code).toMatch(/speech\.wav\b/);
      if (language !== "curl") continue;
      const printed = execFileSync("bash", ["-c", `curl() { :; }; ${code}`], { encoding: "utf8" });
      expect([id, printed]).toEqual([id, ""]);
    }
  }
});

test("samples in Python and JavaScript are short", () => {
  const compatibilities = newCompatibilities.parse({
    vendora_chat_completions: true,
    vendora_embeddings: true,
  });
  const run = { origin: "https://auspex.test", model: "demo/it", input: { prompt: "Hello" } };
  for (const streams of [false, true])
    for (const { id, language, code } of codeSamples({ ...run, compatibilities, streams })) {
      const lines = code.split("\n").filter((line) => !/^(#|\/\/|$)/.test(line));
      if (language === "js" && /^(predictions|embeddings)/.test(id))
        expect(lines.length, code).toBeLessThanOrEqual(6);
      if (id === "predictions-python") expect(lines.length, code).toBeLessThanOrEqual(6);
    }
});

test("curl turns its buffer off only for calls that stream", () => {
  const flags = Object.keys(newCompatibilities.parse({})).map((flag) => [flag, true]);
  const compatibilities = newCompatibilities.parse(Object.fromEntries(flags));
  const run = { origin: "https://auspex.test", model: "demo/it", input: {}, compatibilities };
  const unbuffered = codeSamples({ ...run, streams: true })
    .filter(({ language, code }) => language === "curl" && code.startsWith("curl -N "))
    .map(({ id }) => id);
  expect(unbuffered).toEqual(["chat-curl", "responses-curl", "messages-curl"]);
});

test("samples give both clients of Replicate the base URL that ends in /replicate/v1", () => {
  const compatibilities = newCompatibilities.parse({});
  const run = { origin: "https://auspex.test", model: "demo/it", input: {}, compatibilities };
  for (const { language, code } of codeSamples({ ...run, streams: false }))
    if (language === "python" || language === "js")
      expect(code).toContain('= "https://auspex.test/replicate/v1"');
});
