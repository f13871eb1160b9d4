/** Schemas that refer to components beside them, as in the OpenAPI document of a Cog image. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import type { Version } from "../../../src/protocol/model.ts";
import worker from "../../../src/worker.ts";
import { ORIGIN } from "../support/client.ts";
import { signedUp } from "../support/visitor.ts";
import { DIGEST, newWorld, type World } from "../support/world.ts";

/** Components from Cog's /openapi.json: an input with choices, and a list of texts. */
const components = {
  schemas: {
    Input: {
      title: "Input",
      type: "object",
      required: ["prompt"],
      properties: {
        prompt: { title: "Prompt", type: "string", "x-order": 0 },
        size: {
          allOf: [{ $ref: "#/components/schemas/size" }],
          description: "How big",
          default: "small",
          "x-order": 1,
        },
      },
    },
    Output: {
      title: "Output",
      type: "array",
      items: { type: "string" },
      "x-cog-array-type": "iterator",
    },
    size: { title: "size", description: "An enumeration.", enum: ["small", "large"] },
    Status: { enum: ["starting", "succeeded"] },
    PredictionResponse: {
      type: "object",
      properties: {
        input: { $ref: "#/components/schemas/Input" },
        status: { $ref: "#/components/schemas/Status" },
      },
    },
  },
};
const prediction = {
  input: { $ref: "#/components/schemas/Input" },
  output: { $ref: "#/components/schemas/Output" },
  stream_output: true,
};

const publish = ({ client, model }: World, schemas: object) =>
  client.json<Version & { detail: { loc: string[]; msg: string }[] }>(
    "POST",
    `/v1/models/${model}/versions`,
    { release_notes: "", container_image_digest: DIGEST, schemas },
  );

let world: World;
beforeAll(async () => {
  world = await newWorld({ visibility: "public" });
  expect((await publish(world, { prediction, components })).status).toBe(200);
});

test("schemas with components are stored whole, and returned as they were sent", async () => {
  const { client, model } = world;
  const { body } = await client.json<Version>("GET", `/v1/models/${model}/versions/2`);
  expect(body.schemas).toEqual({ prediction, components });
});

test.each([
  [{ size: "small" }, "missing", ["body", "input", "prompt"]],
  [{ prompt: "hi", size: "huge" }, "enum", ["body", "input", "size"]],
  [{ prompt: 5 }, "string_type", ["body", "input", "prompt"]],
])("Validate-Input refuses %j because of a component", async (input, type, loc) => {
  const { client, model } = world;
  const asked = { model, input };
  const headers = { "validate-input": "true" };
  const { status, body } = await client.json("POST", "/v1/predictions", asked, headers);
  expect({ status, body }).toMatchObject({ status: 422, body: { detail: [{ type, loc }] } });
});

test("Validate-Input accepts an input that fits the components", async () => {
  const { client, model } = world;
  const input = { prompt: "hi", size: "large" };
  const { body } = await client.create({ model, input }, { "validate-input": "true" });
  expect(body.status).toBe("pending");
});

describe("an error in a schema", () => {
  test("an error in a component is reported with its place", async () => {
    const broken = { schemas: { ...components.schemas, size: { enum: "small" } } };
    const { status, body } = await publish(world, { prediction, components: broken });
    expect(status).toBe(422);
    expect(body.detail[0]?.loc).toEqual([
      ...["body", "schemas", "components", "schemas", "size"],
      "enum",
    ]);
  });

  test("an error in a component named __proto__ is reported with its place", async () => {
    const broken = JSON.parse('{"schemas": {"__proto__": [null]}}');
    const { status, body } = await publish(world, { prediction, components: broken });
    expect(status).toBe(422);
    expect(body.detail[0]?.loc).toEqual(["body", "schemas", "components", "schemas", "__proto__"]);
  });

  test("an error for a reference to a missing component names the reference", async () => {
    const { size: _, ...schemas } = components.schemas;
    const { status, body } = await publish(world, { prediction, components: { schemas } });
    expect(status).toBe(422);
    expect(body.detail[0]?.msg).toContain("#/components/schemas/size");
  });
});

test("the pages of the version, the playground and the API show fields from components", async () => {
  const { visitor } = await signedUp();
  const { html } = await visitor.look(`/models/${world.model}/versions/2`);
  expect(html).toContain("prompt");
  expect(html).toContain("How big");
  const { html: play } = await visitor.look(`/models/${world.model}`);
  expect(play).toMatch(
    /<label for="enum-1"><bdi>size.*<select id="enum-1".*>small<.*>large<.*<\/select>/s,
  );
  const { html: api } = await visitor.look(`/models/${world.model}/api`);
  expect(api).toContain("prompt");
});

test("an operator's VALIDATE_INPUT validates requests that do not decide, and no others", async () => {
  const validating = Object.assign({}, env, { VALIDATE_INPUT: "on" });
  const create = async (own: typeof env, headers: Record<string, string> = {}) => {
    const { status } = await worker.fetch(
      new Request(`${ORIGIN}/v1/predictions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${world.client.token}`,
          "content-type": "application/json",
          ...headers,
        },
        body: JSON.stringify({ model: world.model, input: { prompt: 5 } }),
      }),
      own,
      createExecutionContext(),
    );
    return status;
  };
  expect(await create(env)).toBe(202);
  expect(await create(validating)).toBe(422);
  expect(await create(validating, { "validate-input": "false" })).toBe(202);
});
