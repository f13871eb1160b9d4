/** Inputs on a command line: text (converted by the schema), JSON and files. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { explain, Failure, Misuse } from "../../../src/cli/failure.ts";
import { buildInput, nearest, readPair, unknownInputs } from "../../../src/cli/run/input.ts";
import { ANY_SCHEMAS } from "../../../src/domain/images/server-description.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Schemas } from "../../../src/protocol/model.ts";
import { Home } from "../support/command.ts";
import { Edge } from "../support/edge.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

const schemas = (properties: Record<string, object>, more = {}): Schemas => ({
  prediction: {
    input: JSON.parse(JSON.stringify({ type: "object", properties, ...more })),
    output: {},
    stream_output: false,
  },
});

const MODEL = schemas({
  prompt: { type: "string" },
  image: { type: "string", format: "uri" },
  count: { type: "integer" },
  scale: { type: "number", minimum: 0, maximum: 1 },
  fast: { type: "boolean", default: false },
  size: { enum: ["small", "1"] },
  tags: { type: "array", items: { type: "string" } },
  messages: { type: "array", items: { type: "object" } },
  options: { type: "object" },
});

const inputOf = (args: string[], of: Schemas | undefined = MODEL, base = {}) =>
  buildInput({
    base,
    pairs: args.map(readPair),
    schemas: of,
    upload: async (path) => `https://auspex.test/uploads${path}`,
  });

test("text becomes a value of the schema's type", async () => {
  const given = ["prompt=a = b", "count=3", "scale=0.5", "fast=true", "size=1"];
  const more = ["tags=one", "tags=two", "messages=Hello", 'options={"a": [1]}', "image=@/a.png"];
  expect(await inputOf([...given, ...more])).toEqual({
    prompt: "a = b",
    count: 3,
    scale: 0.5,
    fast: true,
    size: "1",
    tags: ["one", "two"],
    messages: [{ role: "user", content: "Hello" }],
    options: { a: [1] },
    image: "https://auspex.test/uploads/a.png",
  });
});

test("JSON is taken unchanged, also with a leading @ or with line breaks, and one item becomes a list", async () => {
  const given = ['prompt:="@not a file"', "tags=one", "count:=null"];
  expect(await inputOf(given)).toEqual({ prompt: "@not a file", tags: ["one"], count: null });
  expect(await inputOf(["prompt=two\nlines"])).toEqual({ prompt: "two\nlines" });
});

test("text stays text for a model with unknown inputs, and repeated names become a list", async () => {
  expect(await inputOf(["a=1", "b=x", "b=y", "c:=1"], undefined)).toEqual({
    a: "1",
    b: ["x", "y"],
    c: 1,
  });
});

test("pairs change a whole input", async () => {
  expect(await inputOf(["count=2"], MODEL, { count: 1, prompt: "a" })).toEqual({
    count: 2,
    prompt: "a",
  });
});

test("an error about a wrong input has its name and a valid value", async () => {
  const closed = schemas({ prompt: { type: "string" } }, { additionalProperties: false });
  const faults: [string[], RegExp, Schemas?][] = [
    [["count=many"], /^count: /],
    [["fast=yes"], /^fast: must be true or false, not "yes"/],
    [["size=big"], /^size: must be one of "small", "1"/],
    [["prompt=a", "prompt=b"], /^prompt can only be given once/],
    [["options={"], /^options: /],
    [["prompt:={"], /^prompt: invalid JSON/],
    [
      ["promt=a"],
      /^The model has no input "promt"\. Did you mean "prompt"\? Inputs: prompt\.$/,
      closed,
    ],
  ];
  for (const [args, message, of] of faults) {
    await expect(inputOf(args, of), args.join(" ")).rejects.toThrow(message);
    await expect(inputOf(args, of)).rejects.toThrow(Misuse);
  }
  expect(() => readPair("=a")).toThrow(/Use key=value/);
});

const NAMES = ["name", "times", "temperature", "max_tokens", "n"];

test.each([
  ["nam", "name"],
  ["Name", "name"],
  ["anme", "name"],
  ["tmies", "times"],
  ["temprature", "temperature"],
  ["max-token", "max_tokens"],
])("the typed name %s is taken for %s", (typed, meant) => {
  expect(nearest(typed, NAMES)).toBe(meant);
});

test.each(["prompt", "x", "", "tokens"])("the typed name %s is close to no name", (typed) => {
  expect(nearest(typed, NAMES)).toBeUndefined();
});

let deployment: FakeDeployment;
let edge: Edge;
let home: Home;
beforeAll(async () => {
  deployment = await FakeDeployment.open();
  edge = await Edge.open(deployment.url, 1_000_000);
  home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
  const versions = [{ image: `sha256:${"a".repeat(64)}`, release_notes: "First" }];
  deployment.models.set("greeter", { name: "greeter", visibility: "private", versions });
});
afterAll(() => {
  edge.close();
  deployment.close();
  home.remove();
});

const LINE = 'Warning: ada/greeter:1 has no input "nam". Did you mean "name"? Inputs: name.';
const posts = () => edge.bodies.filter(({ path }) => path === "/v1/predictions").length;

test.each([
  ["from a pair", ["nam=Ada"], [LINE]],
  ["from a whole input, with --json", ["--json", "--input", '{"nam": "Ada"}'], [LINE]],
  ["with --quiet", ["--quiet", "nam=Ada"], []],
  ["one that there is", ["name=Ada"], []],
])("an unknown input is reported where it should be: %s", async (_, args, lines) => {
  const before = posts();
  const { err } = await home.call(["run", "ada/greeter", "--detach", ...args]);
  expect(err.match(/^.* has no input .*$/gm) ?? []).toEqual(lines);
  expect(posts()).toBe(before + 1);
});

const unknownOf = (input: { [name: string]: Json }, more = {}, configuration = {}) =>
  unknownInputs(
    {
      schemas: { ...ANY_SCHEMAS, prediction: { ...ANY_SCHEMAS.prediction, input }, ...more },
      configuration,
    },
    ["nam", "name", "nam"],
  ).map(({ name }) => name);

const properties = { name: { type: "string" } };

test("unknown inputs are found through references, as Cog writes its schemas", () => {
  const schemas = { Input: { type: "object", properties }, Base: { properties } };
  expect(unknownOf({ $ref: "#/components/schemas/Input" }, { components: { schemas } })).toEqual([
    "nam",
  ]);
  const all: Json[] = [{ $ref: "#/components/schemas/Base" }, { properties: { nam: {} } }];
  expect(unknownOf({ allOf: all }, { components: { schemas } })).toEqual([]);
});

test.each<[{ [name: string]: Json }]>([
  [{ type: "object" }],
  [{ properties, additionalProperties: true }],
  [{ properties, patternProperties: { "^x": {} } }],
  [{ properties, anyOf: [{ properties: { nam: {} } }, {}] }],
  [{ properties, allOf: [{ additionalProperties: {} }] }],
  [{ properties, allOf: [{ $ref: "#" }] }],
  [{ properties, $ref: "https://auspex.test/elsewhere" }],
])("no input is reported for a schema that may accept it: %j", (input) => {
  expect(unknownOf(input)).toEqual([]);
});

test("no input is reported for a server of OpenAI's API, which gets all", () => {
  expect(unknownOf({ properties })).toEqual(["nam"]);
  expect(unknownOf({ properties }, {}, { interface: "vendora" })).toEqual([]);
});

test("an invalid input is reported by its name, without body.input", () => {
  const refused = "body.input.times: Input should be less than 9; body.input.name: Field required";
  expect(explain(new Failure(refused)).message).toBe(
    "times: Input should be less than 9; name: Field required",
  );
});
