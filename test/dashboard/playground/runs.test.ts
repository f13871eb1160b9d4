/** Labels and pictures of runs in lists. */
import { describe, expect, test } from "vitest";
import { labelOf, pictureOf } from "../../../src/dashboard/playground/run-inputs.ts";

describe("a run in a list", () => {
  test("the label of a run is its prompt, or else the longest text, on one line", () => {
    expect(labelOf({ style: "ink", prompt: "A fox\n in   snow", seed: 1 })).toBe("A fox in snow");
    expect(labelOf({ prompt: "A fox", negative_prompt: "Hens, and more hens" })).toBe("A fox");
    expect(labelOf({ style: "ink", question: "Who is it?" })).toBe("Who is it?");
    expect(labelOf({ prompt: "x".repeat(500) })).toBe(`${"x".repeat(89)}…`);
    expect(labelOf({ image: "https://a.example/long/address.png", mode: "up" })).toBe("up");
  });

  test("the label of a run is not a choice from a list, unless the input has nothing else", () => {
    const fields = [
      { name: "mode", kind: "enum" },
      { name: "prompt", kind: "text" },
    ] as const;
    expect(labelOf({ mode: "slow", prompt: "fox" }, [...fields])).toBe("fox");
    expect(labelOf({ mode: "slow", steps: 4 }, [...fields])).toBe('mode: "slow", steps: 4');
  });

  test("the label of a run has the fields that differ from the form's defaults, if any do", () => {
    const fields = [
      { name: "numbers", kind: "json", default: [1, 2] },
      { name: "mode", kind: "enum", default: "sum" },
      { name: "fast", kind: "boolean" },
    ] as const;
    const label = (input: object) =>
      labelOf(
        JSON.parse(JSON.stringify(input)),
        fields.map((one) => JSON.parse(JSON.stringify(one))),
      );
    expect(label({ numbers: [1, 2], mode: "mean", fast: true })).toBe('mode: "mean", fast: true');
    expect(label({ numbers: [1, 2], mode: "sum" })).toBe('numbers: [1,2], mode: "sum"');
  });

  test("the label of a run has all texts of a list", () => {
    expect(labelOf({ model: "tiny", input: ["A cat", "", "A dog"] })).toBe("A cat, A dog");
    expect(labelOf({ images: ["https://a.example/1.png"], n: 2 })).toContain("n: 2");
  });

  test("the label of a run has the last message of a conversation", () => {
    const said = (content: unknown) =>
      JSON.parse(JSON.stringify({ messages: [{ content: "Hi" }, { role: "user", content }] }));
    expect(labelOf(said("And now?"))).toBe("And now?");
    expect(labelOf(said([{ type: "image_url" }, { type: "text", text: "What is it?" }]))).toBe(
      "What is it?",
    );
    expect(labelOf(said(null))).toBe('messages: [{"content":"Hi"},{"role":"user","content":null}]');
  });

  test("the label of a run has its numbers where it has no text", () => {
    expect(labelOf({ numbers: [1, 2], fast: true })).toBe("numbers: [1,2], fast: true");
    expect(labelOf({ image: "data:image/png;base64,AAAA" })).toBe("");
    expect(labelOf([1])).toBe("");
  });

  test("the picture of a run is the first one of this deployment", () => {
    const file = (name: string) =>
      `https://auspex.test/v1/files/a-b/${name}?expires=9999999999&signature=x`;
    const host = "auspex.test";
    expect(pictureOf([file("a.wav"), file("b.png")], host)).toContain("/v1/files/a-b/b.png?");
    expect(pictureOf(file("b.png"), host)).toContain("/b.png");
    expect(pictureOf("https://elsewhere.example/b.png", host)).toBeUndefined();
    expect(pictureOf("data:image/png;base64,AAAA", host)).toBeUndefined();
    expect(pictureOf({ a: file("b.png") }, host)).toBeUndefined();
  });
});
