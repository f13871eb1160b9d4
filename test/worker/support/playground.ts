/** The playground of a public model, with a user who runs predictions there. */
import { expect } from "vitest";
import { signedUp, type Visitor } from "./visitor.ts";
import { newClient, newWorld } from "./world.ts";

export const INPUT = {
  type: "object",
  required: ["prompt"],
  properties: {
    prompt: { type: "string", title: "Prompt", description: "What it is about", "x-order": 0 },
    steps: { type: "integer", minimum: 1, maximum: 50, default: 20, "x-order": 1 },
    size: { allOf: [{ $ref: "#/components/schemas/size" }], default: "small", "x-order": 2 },
    tiled: { type: "boolean", default: true, "x-order": 3 },
    tags: { type: "array", items: { type: "string" }, "x-order": 4 },
  },
  components: { schemas: { size: { type: "string", enum: ["small", "large"] } } },
};

/** Returns the fields that a browser sends when only `typed` was entered. */
export const form = (typed: Record<string, string>) => ({
  version: "1",
  "lines-0": "",
  "range-1": "20",
  "enum-2": '"small"',
  "boolean-3": "true",
  "strings-4": "",
  ...typed,
});

/** Returns the tag of the control with this ID. */
export const control = (html: string, id: string) =>
  new RegExp(`<(?:input|select|textarea)[^>]* id="${id}"[^>]*>`).exec(html)?.[0] ?? "";

/** Returns a world with `INPUT`, and another user who is logged in. */
export async function newPlayground() {
  const world = await newWorld({ input: INPUT, visibility: "public" });
  const page = `/models/${world.model}`;
  const { visitor, username } = await signedUp();
  const client = await newClient(username);

  /** Runs a prediction as client code does. @returns its ID */
  async function run(input: object, by: Visitor = visitor, at = page): Promise<string> {
    await by.look(at);
    const response = await by.call("POST", at, { input });
    expect(response.status).toBe(200);
    const { id } = await response.json<{ id: string }>();
    return id;
  }

  return { world, page, visitor, username, client, run };
}
