/** The state of a conversation: responses that continue earlier ones, and responses that are not kept. */

import { v7 as uuid } from "uuid";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { answer, chunk, finish, newOpenAi } from "../support/openai.ts";
import { newResponses, PATH, refusal, resource } from "../support/openai-responses.ts";
import { startClock, stopClock } from "../support/time.ts";

const { client, fleet, create, completed } = await newResponses();
const { client: stranger } = await newOpenAi();

afterEach(startClock);

describe("an earlier response", () => {
  test("an earlier response's items are given to the model, and listed as input", async () => {
    const first = await completed({ input: "One", instructions: "Be brief" }, "first");
    const [response, job] = await Promise.all([
      create({ input: "Two", previous_response_id: first.id }),
      answer(fleet, "second"),
    ]);
    const second = await resource(response);
    expect(second.previous_response_id).toBe(first.id);
    expect(second.instructions).toBeNull();
    const { input } = job.input ?? {};
    expect(input).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ text: "first" }] },
      { role: "user" },
    ]);
    const list = `${PATH}/${second.id}/input_items`;
    const all = await client.ok<{ data: { id: string }[] }>("GET", `${list}?order=asc`);
    expect(all).toMatchObject({
      object: "list",
      has_more: false,
      data: [
        { content: [{ type: "input_text", text: "One" }] },
        { content: [{ type: "output_text", text: "first" }] },
        { content: [{ type: "input_text", text: "Two" }] },
      ],
    });
    const [last] = all.data.slice(-1);
    const page = await client.ok("GET", `${list}?limit=1&after=${last?.id}`);
    expect(page).toMatchObject({ data: [all.data[1]], has_more: true });
    expect(await refusal(client.fetch(`${list}?after=none`))).toMatchObject({ status: 400 });
  });

  test("an earlier response's pictures reach the model, also after that response was deleted", async () => {
    const bytes = new Uint8Array(150_000).fill(7);
    const image_url = `data:image/png;base64,${bytes.toBase64()}`;
    const content = [{ type: "input_image", image_url }];
    const first = await completed({ input: [{ role: "user", content }] }, "A seven");
    const next = { input: "Sure?", previous_response_id: first.id };
    const [response, job] = await Promise.all([create(next), answer(fleet, "Yes")]);
    const second = await resource(response);
    const place = ["input", 0, "content", 0, "image_url"];
    const stored = { name: "data-1.png", mime_type: "image/png", size: bytes.length };
    expect(job.files).toMatchObject([{ at: place, stored: { ...stored, data_uri: true } }]);
    expect(job.files[0]?.stored?.key).toBe(`${job.prediction_id}/earlier-1.png`);
    await client.ok("DELETE", `${PATH}/${first.id}`);
    const third = { input: "Really?", previous_response_id: second.id };
    const [, last] = await Promise.all([create(third), answer(fleet, "Yes!")]);
    expect(last.files).toMatchObject([{ at: place, stored: { ...stored, data_uri: true } }]);
  });

  test("an earlier response's items can be referred to one by one", async () => {
    const call = chunk({
      role: "assistant",
      tool_calls: [
        { index: 0, id: "call_1", type: "function", function: { name: "sum", arguments: "{}" } },
      ],
    });
    const first = await completed({ input: "One" }, call, chunk({}, "tool_calls"));
    const [item] = first.output;
    const [, job] = await Promise.all([
      create({
        input: [
          { role: "user", content: "One" },
          { type: "item_reference", id: item && "id" in item ? item.id : "" },
          { type: "function_call_output", call_id: "call_1", output: "2" },
        ],
      }).then((response) => response.text()),
      answer(fleet, "Two."),
    ]);
    expect(job.input?.input).toMatchObject([
      { role: "user" },
      { type: "function_call", call_id: "call_1", name: "sum" },
      { type: "function_call_output" },
    ]);
  });

  test.each(["msg_unknown", "msg_0123456789abcdef0123456789abcdef_0"])(
    "an item_reference to the unknown item %s is refused",
    async (id) => {
      const input = [
        { role: "user", content: "One" },
        { type: "item_reference", id },
      ];
      expect(await refusal(create({ input }))).toMatchObject({
        status: 400,
        code: "item_not_found",
        param: "input[1]",
      });
    },
  );

  test("100 unknown items are looked up only until the first is not found", async () => {
    const input = Array.from({ length: 100 }, () => ({
      type: "item_reference",
      id: `msg_${uuid().replaceAll("-", "")}_0`,
    }));
    const find = vi.spyOn(AccountObject.prototype, "find");
    expect(await refusal(create({ input }))).toMatchObject({ code: "item_not_found" });
    // A new ID is looked up four times, because its row may not be written yet.
    expect(find.mock.calls.length).toBeLessThanOrEqual(4);
    find.mockRestore();
  });

  test("a response that failed cannot be continued", async () => {
    const wrong = await completed({}, { width: 5 });
    expect(wrong.status).toBe("failed");
    expect(await refusal(create({ previous_response_id: wrong.id }))).toMatchObject({
      status: 400,
      param: "previous_response_id",
    });
  });

  test.each([
    ["unknown", "resp_0123456789abcdef0123456789abcdef"],
    ["no id at all", "nonsense"],
  ])("a previous_response_id that is %s is refused", async (_, previous_response_id) => {
    expect(await refusal(create({ previous_response_id }))).toMatchObject({
      status: 400,
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
  });

  test("a response can be continued only by its owner and after its end", async () => {
    const { id } = await resource(create({ background: true }), 202);
    const { channel } = await fleet.work();
    expect(await refusal(create({ previous_response_id: id }))).toMatchObject({
      status: 400,
      param: "previous_response_id",
    });
    await finish(channel, ["on"]);
    expect((await stranger.fetch(`${PATH}/${id}`)).status).toBe(404);
  });
});

describe("a response that is not kept", () => {
  test("a response with store: false is not found, and its data is removed", async () => {
    stopClock();
    const { id } = await completed({ store: false });
    expect(await refusal(client.fetch(`${PATH}/${id}`))).toMatchObject({ status: 404 });
    expect(await refusal(create({ previous_response_id: id }))).toMatchObject({ status: 400 });
  });

  test("a response with store: false cannot be in the background", async () => {
    const wrong = create({ store: false, background: true });
    expect(await refusal(wrong)).toMatchObject({ status: 400, param: "store" });
  });

  test("a deleted response is not found, and its prediction has no data", async () => {
    const { id } = await completed();
    const gone = await client.ok("DELETE", `${PATH}/${id}`);
    expect(gone).toEqual({ id, object: "response", deleted: true });
    for (const path of ["", "/input_items", "?stream=true"]) {
      expect(await refusal(client.fetch(`${PATH}/${id}${path}`))).toMatchObject({
        status: 404,
        code: "response_not_found",
      });
    }
    expect((await client.fetch(`${PATH}/${id}`, { method: "DELETE" })).status).toBe(404);
  });

  test("a response cannot be deleted while it is under way", async () => {
    const { id } = await resource(create({ background: true }), 202);
    const { channel } = await fleet.work();
    const deleting = client.fetch(`${PATH}/${id}`, { method: "DELETE" });
    expect(await refusal(deleting)).toMatchObject({ status: 400, code: "response_in_progress" });
    await finish(channel, ["on"]);
  });
});
