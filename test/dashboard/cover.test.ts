/** The covers of models in the gallery. */
import { expect, test } from "vitest";
import { Cover } from "../../src/dashboard/models/cover.tsx";

const coverOf = (name: string, category?: string, url?: string) => {
  const categories = category === undefined ? [] : [{ slug: category, name: category }];
  return String(Cover({ name, categories, url }));
};

test("a model with a picture has it as its cover", () => {
  expect(coverOf("ada/story", "chat", "/pictures?a")).toMatch(
    /^<img class="[^"]+" src="\/pictures/,
  );
});

test.each([undefined, "chat", "text-generation", "speech-to-text", "embeddings", "constructor"])(
  "the drawing of a model in the category %s is always the same, and no other model has it",
  (category) => {
    const drawing = coverOf("ada/story", category);
    expect(drawing).toMatch(/^<svg .*aria-hidden="true"/);
    expect(drawing).not.toMatch(/NaN|undefined/);
    expect(coverOf("ada/story", category)).toBe(drawing);
    expect(coverOf("ada/poet", category)).not.toBe(drawing);
  },
);

test("the categories of the example models have drawings of their own", () => {
  const categories = [undefined, "chat", "text-generation", "text-to-speech", "embeddings"];
  expect(new Set(categories.map((one) => coverOf("ada/story", one))).size).toBe(5);
});
