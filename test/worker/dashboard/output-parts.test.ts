/** A long output goes on where the page ends, in parts that together are all of it. */
import { expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { newCustomer, view } from "../support/customer.ts";
import { storeValue } from "../support/files.ts";

type Who = Awaited<ReturnType<typeof newCustomer>>;

const LINK = /<a class="button quiet" href="([^"]+)" data-next="true">/;
const linkIn = (html: string) => LINK.exec(html)?.[1]?.replaceAll("&amp;", "&");

/** The page's text, and then each part. */
async function partsOf(who: Who, id: string): Promise<string[]> {
  const html = await view(who, id);
  const [, box = ""] = /<div data-output[^>]*>(.*?)<div data-part="note">/s.exec(html) ?? [];
  const parts = [box.replaceAll(/<summary>.*?<\/summary>|<[^>]+>/gs, "")];
  for (let at = linkIn(html); at !== undefined; ) {
    const response = await who.visitor.fetch(at, { headers: { accept: "application/json" } });
    const part: { text: string; next?: string } = await response.json();
    expect(part.text.length).toBeLessThanOrEqual(110_000);
    parts.push(part.text);
    at = part.next;
  }
  return parts;
}

async function run(outputs: (Json | { stored: Json })[], input = {}) {
  const who = await newCustomer(input);
  const id = await who.waiting();
  const runner = await who.runner();
  const { job, channel } = await runner.work();
  for (const one of outputs) {
    const isStored = typeof one === "object" && one !== null && "stored" in one;
    await channel.report([
      isStored ? await storeValue(runner, job, one.stored ?? null) : { event: "output", data: one },
    ]);
  }
  await channel.report([], { status: "succeeded", output: "items" });
  return { who, id };
}

const WORD = 'Ünïcode 😀 \\ "and" more. '.repeat(2_000);

it("that comes in words, some of them large, and one of them in a file", async () => {
  const outputs = [
    WORD,
    "b".repeat(150_000),
    "c".repeat(220_000),
    { stored: WORD.repeat(6) },
    "end",
  ];
  const { who, id } = await run(outputs);
  const parts = await partsOf(who, id);
  const whole = `${WORD}${"b".repeat(150_000)}${"c".repeat(220_000)}${WORD.repeat(6)}end`;
  expect(parts.join("").replaceAll("&quot;", '"')).toBe(whole);
  expect(parts.length).toBeGreaterThan(4);
});

it("that is one large text, without a character that is torn", async () => {
  const text = `x${"😀é".repeat(90_000)}`;
  const { who, id } = await run([{ stored: text }]);
  const parts = await partsOf(who, id);
  expect(parts.every((part) => part.isWellFormed())).toBe(true);
  expect(parts.join("")).toBe(text);
  // Without client code.
  const address = linkIn(await view(who, id)) ?? "";
  const page = await who.visitor.look(address);
  expect(page.html).toContain(`<div class="output-item text">${parts[1]}</div>`);
  expect(linkIn(page.html)).toMatch(/part\?at=0-\d+$/);
  const next = await who.visitor.look(linkIn(page.html) ?? "");
  expect(next.html).toContain(parts[2]);
});

it("whose characters are torn by the model itself is shown to its end", async () => {
  const { who, id } = await run(["a".repeat(300_000), "\ud83d", "\ude00 the end"]);
  const parts = await partsOf(who, id);
  expect(parts.join("").endsWith(" the end")).toBe(true);
});

it("that is removed while it is read is not said to have ended", async () => {
  const { who, id } = await run(["b".repeat(400_000)]);
  const next = linkIn(await view(who, id)) ?? "";
  await who.client.ok("DELETE", `/v1/predictions/${id}`);
  expect((await who.visitor.look(next)).status).toBe(404);
});

it("has no part beyond its end, and begins anew where an address was spoilt", async () => {
  const { who, id } = await run(["short"]);
  expect(linkIn(await view(who, id))).toBeUndefined();
  const part = async (at: string) =>
    (await who.visitor.look(`/predictions/${id}/output/part?at=${at}`)).html;
  expect(await part("1000")).toContain("The output ends here.");
  expect(await part("drop table")).toContain('<div class="output-item text">short</div>');
});
