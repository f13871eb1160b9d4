/** Hosted tools, which only Anthropic's own service has. */
import { describe, expect, test } from "vitest";
import { withImageAddresses, withImageData } from "../../../src/domain/anthropic/image-sources.ts";
import { withoutHostedTools } from "../../../src/domain/anthropic/plain-blocks.ts";
import type { Json } from "../../../src/protocol/common.ts";

const own = { name: "weather", input_schema: { type: "object" } };
const custom = { ...own, type: "custom" };
const search = { type: "web_search_20250305", name: "web_search" };
const bash = { type: "bash_20250124", name: "bash" };

test("the caller's own tools are left as they are", () => {
  const request = { tools: [own, custom], tool_choice: { type: "any" } };
  expect(withoutHostedTools(request, {})).toEqual({
    request,
    omittedTypes: [],
    requiredType: undefined,
  });
});

test("hosted tools are left out and named", () => {
  const tools = [search, own, bash, search];
  expect(withoutHostedTools({ a: 1, tools, tool_choice: { type: "auto" } }, {})).toEqual({
    request: { a: 1, tools: [own], tool_choice: { type: "auto" } },
    omittedTypes: ["web_search_20250305", "bash_20250124"],
    requiredType: undefined,
  });
});

test("a tool choice without any remaining tool is dropped", () => {
  const { request } = withoutHostedTools({ tools: [search], tool_choice: { type: "auto" } }, {});
  expect(request).toEqual({});
});

test("a version whose schema names a hosted tool keeps it", () => {
  const type = { enum: ["web_search_20250305"] };
  const schema = { properties: { tools: { items: { properties: { type } } } } };
  expect(withoutHostedTools({ tools: [search, bash] }, schema)).toMatchObject({
    request: { tools: [search] },
    omittedTypes: ["bash_20250124"],
  });
});

describe("a choice that demands one", () => {
  test.each<[Json, Json[], string | undefined]>([
    [{ type: "tool", name: "web_search" }, [search, own], "web_search_20250305"],
    [{ type: "tool", name: "weather" }, [search, own], undefined],
    [{ type: "any" }, [search], "web_search_20250305"],
    [{ type: "any" }, [search, own], undefined],
  ])(
    "a choice that demands a hosted tool is found: %j of %j: %s",
    (tool_choice, tools, requiredType) => {
      expect(withoutHostedTools({ tools, tool_choice }, {}).requiredType).toBe(requiredType);
    },
  );
});

const encoded = (data: string) => ({ type: "base64", media_type: "image/png", data });
const image = (source: Json): Json => ({ type: "image", source, cache_control: null });

describe("an image", () => {
  const address = (data: string) => (data === "AAAA" ? "https://example.com/a" : undefined);
  const result = (source: Json): Json => ({ type: "tool_result", content: [image(source)] });

  test("an image has an address where its data has become a file, also in a tool's result", () => {
    const url = { type: "url", url: "https://example.com/a" };
    const message = (source: Json) => [{ role: "user", content: [image(source), result(source)] }];
    expect(withImageAddresses(message(encoded("AAAA")), address)).toEqual(message(url));
    expect(withImageAddresses(message(encoded("BBBB")), address)).toEqual(message(encoded("BBBB")));
  });

  test.each<Json>([
    { type: "document", source: encoded("AAAA") },
    { ...encoded("AAAA") },
    image({ ...encoded("AAAA"), detail: "high" }),
    image({ type: "base64", data: "AAAA" }),
    { type: "tool_use", input: { type: "image", source: "AAAA" } },
  ])("the value %j is not an image", (value) => {
    expect(withImageAddresses(value, address)).toEqual(value);
  });

  test("an image has data again for its container, and keeps an address of the web", () => {
    const data = image({ type: "url", url: `data:image/png;base64,AAAA` });
    expect(withImageData([data])).toEqual([image(encoded("AAAA"))]);
    const web = image({ type: "url", url: "https://example.com/a.png" });
    expect(withImageData([web])).toEqual([web]);
  });
});
