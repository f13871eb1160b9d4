/** As what a file is served: nothing that a page of ours could be made to run. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isInline, servedType } from "../../../src/domain/files/file-type.ts";

/** What the MIME Sniffing Standard calls JavaScript, and what else makes or styles a page. */
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
  test.each(RUN)("%s is served as bytes", (type) => {
    for (const form of [type, type.toUpperCase(), `${type}; charset=utf-8`, `${type} ;a="b"`])
      expect([servedType(form), isInline(form)]).toEqual(["application/octet-stream", false]);
  });

  test("is not served behind another type, or in what is no type at all", () => {
    const around = fc.constantFrom("", " ", "text/plain,", "text/plain;,", '"', "\t", "a/b;x=,");
    fc.assert(
      fc.property(around, fc.constantFrom(...RUN), around, (before, type, after) => {
        expect(servedType(`${before}${type}${after}`)).toBe("application/octet-stream");
      }),
    );
  });
});

test.each([
  "image/png",
  "image/svg+xml",
  "audio/mpeg",
  "application/pdf",
  "application/zip",
  "application/json",
  "text/csv; charset=utf-8",
  "model/gltf-binary",
  "text/plain; note=script",
])("%s stays what it is", (type) => {
  expect(servedType(type)).toBe(type);
});

test("one that is shown is never one that is changed", () => {
  const name = fc.stringMatching(/^[\w.+-]{1,10}$/);
  fc.assert(
    fc.property(fc.constantFrom("image", "video", "text", "application"), name, (kind, of) => {
      const type = `${kind}/${of}`;
      fc.pre(isInline(type));
      expect(servedType(type)).toBe(type);
    }),
  );
});
