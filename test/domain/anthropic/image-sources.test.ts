/** Image sources of messages: they become files and data again, and no other values do. */
import { describe, expect, test } from "vitest";
import { withImageAddresses, withImageData } from "../../../src/domain/anthropic/image-sources.ts";
import type { Json } from "../../../src/protocol/common.ts";

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
