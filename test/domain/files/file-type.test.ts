/**
 * The `Content-Type` that a file is served with: never a type that a browser would run or style a page with.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isInline, servedType } from "../../../src/domain/files/file-type.ts";

/** JavaScript MIME types of the MIME Sniffing Standard, and the types that make or style a page. */
const RUN = [
  ..."javascript ecmascript x-javascript x-ecmascript".split(" ").map((of) => `application/${of}`),
  ..."javascript ecmascript x-javascript x-ecmascript jscript livescript".split(" ").map(textual),
  ...[0, 1, 2, 3, 4, 5].map((minor) => `text/javascript1.${minor}`),
  ..."css html xml xsl".split(" ").map(textual),
  ..."xhtml+xml xml xslt+xml wasm mathml+xml".split(" ").map((of) => `application/${of}`),
  "multipart/x-mixed-replace",
];

function textual(of: string) {
  return `text/${of}`;
}

describe("what a browser runs", () => {
  test.each(RUN)("a file of type %s is served as bytes", (type) => {
    for (const form of [type, type.toUpperCase(), `${type}; charset=utf-8`, `${type} ;a="b"`])
      expect([servedType(form), isInline(form)]).toEqual(["application/octet-stream", false]);
  });

  test("a type that a browser runs is not served behind another type or inside an invalid one", () => {
    const around = fc.constantFrom("", " ", "text/plain,", "text/plain;,", '"', "\t", "a/b;x=,");
    fc.assert(
      fc.property(around, fc.constantFrom(...RUN), around, (before, type, after) => {
        expect(servedType(`${before}${type}${after}`)).toBe("application/octet-stream");
      }),
    );
  });
});

test.each([
  ...["image/png", "image/svg+xml", "audio/mpeg", "application/pdf", "application/zip"],
  ...["application/json", "text/csv; charset=utf-8", "model/gltf-binary"],
  ...["text/plain; note=script"],
])("a file of type %s is served with that type", (type) => {
  expect(servedType(type)).toBe(type);
});

test("a type that is shown in the browser is never changed", () => {
  const name = fc.stringMatching(/^[\w.+-]{1,10}$/);
  fc.assert(
    fc.property(fc.constantFrom("image", "video", "text", "application"), name, (kind, of) => {
      const type = `${kind}/${of}`;
      fc.pre(isInline(type));
      expect(servedType(type)).toBe(type);
    }),
  );
});
