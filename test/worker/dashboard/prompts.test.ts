/** The excerpts of prompts in lists of predictions. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { type Customer, newCustomer } from "../support/customer.ts";

const prompts = async ({ visitor }: Customer, address = "/predictions") =>
  [...(await visitor.look(address)).html.matchAll(/class="prompt clip"[^>]*>([^<]*)</g)].map(
    ([, text]) => text,
  );

const setSchema = ({ model }: Customer, properties: object) =>
  env.DB.prepare("UPDATE versions SET schemas = ? WHERE repository LIKE ?")
    .bind(JSON.stringify({ prediction: { input: { properties }, output: {} } }), `%/${model}`)
    .run();

describe("a row of predictions", () => {
  test("a row has an excerpt of its prompt, on the list and at home", async () => {
    const who = await newCustomer();
    const prompt = `A <b>fox</b>\n in ${"deep ".repeat(40)}snow`;
    await who.waiting({ input: { negative_prompt: "x".repeat(90), prompt } });
    const [shown = ""] = await prompts(who);
    expect(shown).toMatch(/^A &lt;b&gt;fox&lt;\/b&gt; in deep (deep )+deep…$/);
    expect(await prompts(who, "/")).toEqual([shown]);
    const { body } = await who.client.json("GET", "/v1/predictions");
    expect(JSON.stringify(body)).not.toContain("fox");
  });

  test("a row has no secret field, neither one of the schema nor one by its name", async () => {
    const who = await newCustomer();
    await setSchema(who, {
      prompt: { type: "string", format: "password" },
      text: { type: "string", "x-cog-secret": true },
      mode: { enum: ["very slow", "fast"] },
      note: { type: "string" },
    });
    const input = {
      ...{ prompt: "hunter2 hunter2", text: "hunter3 hunter3", mode: "very slow" },
      ...{ api_key: "hunter4 hunter4 hunter4", note: "Fox" },
    };
    await who.waiting({ input });
    expect(await prompts(who)).toEqual(["Fox"]);
    const { html } = await who.visitor.look("/predictions");
    expect(html).not.toContain("hunter");
  });

  test("a row has no prompt once its data is removed", async () => {
    const who = await newCustomer();
    const id = await who.waiting({ input: { prompt: "A fox" } });
    const { channel } = await (await who.runner()).work();
    await channel.succeed("x");
    expect(await prompts(who)).toEqual(["A fox"]);
    await who.client.ok("DELETE", `/v1/predictions/${id}`);
    expect(await prompts(who)).toEqual([]);
  });

  test("a row has no prompt where no schema says what is secret", async () => {
    const who = await newCustomer();
    await who.waiting({ input: { prompt: "A fox" } });
    await who.remove();
    expect(await prompts(who)).toEqual([]);
  });

  test("a person sees no prompt of another, though it is their model that ran", async () => {
    const [who, other] = [await newCustomer(), await newCustomer()];
    await who.waiting({ input: { prompt: "A fox" } });
    expect(await prompts(other)).toEqual([]);
    expect((await other.visitor.look(`/predictions?model=${who.model}`)).html).not.toContain("fox");
  });
});
