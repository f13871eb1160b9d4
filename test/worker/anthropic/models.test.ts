/** The lists of models that answer messages, and the counting of a message's tokens. */
import { describe, expect, test } from "vitest";
import { checkedModel, checkedModels, checkedTokens } from "../../published/anthropic.ts";
import { asking, errorOf, PATH } from "../support/anthropic.ts";
import { answer, newest, newOpenAi, predictionOf } from "../support/openai.ts";
import { newWorld } from "../support/world.ts";

const { client, model } = await newOpenAi({ visibility: "public" });

const MODELS = "/v1/vendorb/models";
const list = async (query = "") => checkedModels(await client.ok("GET", `${MODELS}${query}`));

describe("models", () => {
  test("the list of models has those that chat or have messages, and that the caller may see", async () => {
    const native = await newOpenAi({
      visibility: "public",
      compatibilities: { vendorb_messages: true },
    });
    const embedder = await newOpenAi({
      visibility: "public",
      compatibilities: { vendora_embeddings: true },
    });
    const hidden = await newOpenAi();
    const ids = (await list("?limit=1000")).data.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining([model, native.model]));
    expect(ids).not.toContain(embedder.model);
    expect(ids).not.toContain(hidden.model);
    const { data } = await client.ok<{ data: { id: string }[] }>("GET", "/v1/vendora/models");
    expect(data.map(({ id }) => id)).not.toContain(native.model);
  });

  test("the list of models has pages, forward and back", async () => {
    for (let n = 0; n < 3; n++) await newOpenAi({ visibility: "public" });
    const all = (await list("?limit=1000")).data.map(({ id }) => id);
    expect(all.length).toBeGreaterThan(3);
    const first = await list("?limit=2");
    expect(first).toMatchObject({ has_more: true, first_id: all[0], last_id: all[1] });
    const next = await list(`?limit=1&after_id=${encodeURIComponent(first.last_id ?? "")}`);
    expect(next.data.map(({ id }) => id)).toEqual([all[2]]);
    const back = await list(`?limit=1&before_id=${encodeURIComponent(all[2] ?? "")}`);
    expect(back).toMatchObject({ data: [{ id: all[1] }], has_more: true });
    const last = await list(`?after_id=${encodeURIComponent(all.at(-1) ?? "")}`);
    expect(last).toEqual({ data: [], has_more: false, first_id: null, last_id: null });
    const nowhere = client.fetch(`${MODELS}?after_id=a/b`);
    expect(await errorOf(nowhere)).toMatchObject({ status: 400, type: "invalid_request_error" });
  });

  test.each([model, encodeURIComponent(model), encodeURIComponent(`${model}:1`)])(
    "the model %s is found by its name",
    async (name) => {
      const found = checkedModel(await client.ok("GET", `/v1/vendorb/v1/models/${name}`));
      expect(found).toMatchObject({ id: decodeURIComponent(name), display_name: model });
    },
  );

  test("a model that cannot be called is a 404", async () => {
    const { model: plain } = await newWorld({ visibility: "public" });
    for (const name of [plain, "nobody/none", "nonsense"])
      expect(await errorOf(client.fetch(`${MODELS}/${name}`))).toMatchObject({
        status: 404,
        type: "not_found_error",
      });
  });
});

describe("counting tokens", () => {
  const { max_tokens: _, ...counted } = asking(model, { system: "x".repeat(400) });

  test("count_tokens of a model that only chats is an estimate, for which nothing runs", async () => {
    const response = await client.post(`${PATH}/count_tokens`, counted);
    const { input_tokens } = checkedTokens(await response.json());
    expect(input_tokens).toBeGreaterThan(100);
    expect(response.headers.has("auspex-prediction-id")).toBe(false);
  });

  test("count_tokens of a container that has messages is answered by the container", async () => {
    const world = await newOpenAi({ compatibilities: { vendorb_messages: true } });
    const asked = world.client.post("/v1/vendorb/v1/messages/count_tokens", {
      ...counted,
      model: world.model,
    });
    const [response, job] = await Promise.all([asked, answer(world.fleet, { input_tokens: 42 })]);
    expect(job).toMatchObject({ call: "count_tokens" });
    expect(job.input).toEqual({ ...counted, model: world.model });
    expect(checkedTokens(await response.json())).toEqual({ input_tokens: 42 });
    expect(predictionOf(response)).toBe(await newest(world.client));
    const bad = world.client.post(`${PATH}/count_tokens`, { ...counted, model: world.model });
    const [refusal] = await Promise.all([errorOf(bad), answer(world.fleet, "many")]);
    expect(refusal).toMatchObject({ status: 502, type: "api_error", retry: "false" });
  });
});
