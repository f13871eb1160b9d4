/** Data URIs: requests, outputs, conventions and pages recognize them by one rule. */
import { describe, expect, test } from "vitest";
import { outputOf } from "../../../src/dashboard/prediction-view/output-kind.ts";
import { encodedSource } from "../../../src/domain/anthropic/image-sources.ts";
import { dataUriHead } from "../../../src/domain/files/data-uri.ts";

describe("a data URI", () => {
  test.each([
    ["data:image/png;base64,YQ==", "image/png"],
    ["data:image/svg+xml;base64,YQ==", "image/svg+xml"],
    ["data:text/plain;charset=utf-8;base64,YQ==", "text/plain;charset=utf-8"],
    ["data:audio/ogg; codecs=opus;base64,YQ==", "audio/ogg; codecs=opus"],
    ["DATA:image/PNG;Base64,YQ==", "image/PNG"],
  ])("the data URI %s is recognised with its type", (text, mime_type) => {
    expect(dataUriHead(text)?.mime_type).toBe(mime_type);
    expect(encodedSource(text)).toEqual({ type: "base64", media_type: mime_type, data: "YQ==" });
  });

  test.each([
    "data:;base64,YQ==",
    "data:image/png,a",
    "data:png;base64,YQ==",
    'data:text/plain;name="a";base64,YQ==',
    `data:text/${"a".repeat(300)};base64,YQ==`,
    " data:image/png;base64,YQ==",
    "metadata:image/png;base64,YQ==",
  ])("the text %s is no data URI", (text) => {
    expect(dataUriHead(text)).toBeUndefined();
    expect(encodedSource(text)).toBeUndefined();
  });
});

test("a page shows a picture with any case and any parameters of its data URI", () => {
  const text = "data:image/PNG;q=1;BASE64,YQ==";
  expect(outputOf(text, "example.com")).toMatchObject({ kind: "image", address: text });
  expect(outputOf("data:image/svg+xml;base64,YQ==", "example.com").kind).toBe("text");
});
