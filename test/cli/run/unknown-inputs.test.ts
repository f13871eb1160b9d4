/** Inputs that a version does not have: they are reported where the schema is known, and the run goes on. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { unknownInputs } from "../../../src/cli/run/input.ts";
import { ANY_SCHEMAS } from "../../../src/domain/images/server-description.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { Home } from "../support/command.ts";
import { Edge } from "../support/edge.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

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

const LINE = "ada/greeter:1 has no input “nam”: did you mean name? It has: name.";
const posts = () => edge.bodies.filter(({ path }) => path === "/v1/predictions").length;

test.each([
  ["from a pair", ["nam=Ada"], [LINE]],
  ["from a whole input, with --json", ["--json", "--input", '{"nam": "Ada"}'], [LINE]],
  ["with --quiet", ["--quiet", "nam=Ada"], []],
  ["one that there is", ["name=Ada"], []],
])("an unknown input is reported where it should be: %s", async (_, args, lines) => {
  const before = posts();
  const { err } = await home.run(["run", "ada/greeter", "--detach", ...args]);
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
