/** Links from a run to the view of its model: a chat opens the conversation, a picture the pictures. */
import { describe, expect, it } from "vitest";
import { signedUp } from "../support/visitor.ts";
import { newClient, newWorld } from "../support/world.ts";

const messages = [{ role: "user", content: "Who is the Hatter?" }];

async function newPages(compatibility: string, properties: Record<string, object>) {
  const { model } = await newWorld({
    input: { type: "object", properties },
    compatibilities: { [compatibility]: true },
    visibility: "public",
  });
  const { visitor, username } = await signedUp();
  const client = await newClient(username);
  const run = async (input: object) => (await client.create({ model, input })).body.id;
  const look = async (query: string) => (await visitor.look(`/models/${model}?${query}`)).html;
  return { run, look };
}

describe("a chat", async () => {
  const { run, look } = await newPages("vendora_chat_completions", {
    messages: { type: "array", items: {} },
    max_tokens: { type: "integer" },
    api_key: { type: "string", format: "password" },
  });

  it("a chat has the conversation, the settings and the version of the run, without secrets", async () => {
    const id = await run({ messages, max_tokens: 7, api_key: "s3cret" });
    const html = await look(`prediction=${id}`);
    const opened = /data-opened="([^"]*)"/.exec(html)?.[1]?.replaceAll("&quot;", '"') ?? "";
    expect(JSON.parse(opened)).toMatchObject({
      turns: [
        { role: "user", text: "Who is the Hatter?" },
        { role: "assistant", state: "running", prediction: id },
      ],
    });
    expect(html).toMatch(/<input[^>]*value="7"/);
    expect(html).toContain("Enter its secrets again");
    expect(html).not.toContain("s3cret");
    // The last two lines are for browsers without client code.
    expect(html).toMatch(/data-without-scripts[^>]*>.*data-prediction=/s);
    expect(html).toContain(`view=form&amp;prediction=${id}`);
  });

  it("a chat stays a form where the address asks for one, and so do its links", async () => {
    const id = await run({ messages });
    const html = await look(`prediction=${id}&view=form`);
    expect(html).toContain("data-playground=");
    expect(html).toContain(`?prediction=${id}&amp;view=form" aria-current="page"`);
    expect(html).toContain(`view=chat&amp;prediction=${id}`);
    expect(html).not.toContain("no place for");
  });

  it("a chat whose input has unknown parts opens as a form, with a hint", async () => {
    const id = await run({ messages: [{ role: "user", content: [{ type: "input_audio" }] }] });
    const html = await look(`prediction=${id}`);
    expect(html).toContain("data-playground=");
    expect(html).toContain("Its input has parts that the chat has no place for");
    expect(html).not.toContain(`view=chat&amp;prediction=`);
  });
});

it("a page of pictures has the opened run on top", async () => {
  const { run, look } = await newPages("vendora_images_generations", { prompt: {} });
  const id = await run({ prompt: "A grin" });
  const html = await look(`prediction=${id}`);
  expect(html).toContain('data-view="images"');
  expect(html).toMatch(new RegExp(`data-opened="${id}"[^>]*data-label="A grin"`));
  expect(html).toMatch(/data-without-scripts[^>]*>.*data-prediction=/s);
});
