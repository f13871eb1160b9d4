/** Files that users upload in the playground, by their session. */
import { describe, expect, it } from "vitest";
import type { Upload } from "../../../src/protocol/upload.ts";
import { bytesOf, MIB, PART, sendParts } from "../support/files.ts";
import { newPlayground } from "../support/playground.ts";
import { signedUp, type Visitor } from "../support/visitor.ts";
import { newWorld } from "../support/world.ts";

const { visitor, client, run } = await newPlayground();

describe("uploads of a session", () => {
  async function begin(by: Visitor, size: number): Promise<Upload> {
    await by.look("/");
    const facts = { size, mime_type: "image/png", name: "a cat.png" };
    const response = await by.call("POST", "/uploads", facts);
    expect(response.status).toBe(200);
    return response.json();
  }

  it("uploads become files that an input takes", async () => {
    const { model } = await newWorld({
      input: { type: "object", properties: { image: { type: "string", format: "uri" } } },
      visibility: "public",
    });
    const size = PART + MIB;
    const begun = await begin(visitor, size);
    expect(begun).toMatchObject({ status: "pending", size, part_size: PART });
    const etags = await sendParts(begun, bytesOf(size));
    const asked = await visitor.call("GET", `/uploads/${begun.id}`);
    expect((await asked.json<Upload>()).parts).toHaveLength(2);
    const completed = await visitor.call("POST", `/uploads/${begun.id}/complete`, { etags });
    const { url, status } = await completed.json<Upload>();
    expect(status).toBe("completed");
    const id = await run({ image: url }, visitor, `/models/${model}`);
    const { body } = await client.json<{ input: object }>("GET", `/v1/predictions/${id}`);
    expect(body.input).toEqual({ image: url });
  });

  it("an upload can be canceled, and nobody else has access to it", async () => {
    const begun = await begin(visitor, 10);
    const { visitor: stranger } = await signedUp();
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/cancel"],
    ] as const) {
      expect((await stranger.call(method, `/uploads/${begun.id}${path}`)).status).toBe(404);
    }
    const completion = await stranger.call("POST", `/uploads/${begun.id}/complete`, {
      etags: ["x"],
    });
    expect(completion.status).toBe(404);
    expect((await visitor.call("POST", `/uploads/${begun.id}/cancel`)).status).toBe(200);
    expect((await visitor.call("GET", `/uploads/${begun.id}`)).status).toBe(404);
  });

  it("an upload that is refused has an error in words", async () => {
    await visitor.look("/");
    const none = await visitor.call("POST", "/uploads", { size: 0, mime_type: "image/png" });
    expect(none.status).toBe(422);
    expect(await none.json()).toMatchObject({ detail: [{ loc: ["body", "size"] }] });
  });
});
