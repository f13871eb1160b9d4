/** Hosted tools, which only Anthropic's own service has. */
import { describe, expect, test } from "vitest";
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
