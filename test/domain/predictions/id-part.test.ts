/** Prediction IDs that are searched for by their beginning or end. */
import { expect, test } from "vitest";
import { readIdPart } from "../../../src/domain/predictions/prediction-id.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const NOW = 0x01980c3e7b0a;

const read = (text: string) => readIdPart(text, NOW);

test("each beginning of an ID is a part of it, up to the whole ID", () => {
  for (let length = 1; length <= ID.length; length++) {
    const beginning = ID.slice(0, length);
    expect(read(beginning)).toEqual({ beginning });
    expect(read(beginning.toUpperCase())).toEqual({ beginning });
  }
});

test("each end of eight or more characters is a part of an ID, with or without the prefix that lists show", () => {
  for (let length = 8; length < ID.length; length++) {
    const ending = ID.slice(-length);
    expect(read(ending)).toEqual({ ending });
    expect(read(`…${ending.toUpperCase()}`)).toEqual({ ending });
    expect(read(`...${ending}`)).toEqual({ ending });
  }
});

test.each([
  ["a future time is an ending", "01980c3f", { ending: "01980c3f" }],
  ["text after three dots is an ending", "…01980c3e", { ending: "01980c3e" }],
  ["seven characters are a beginning", "b2c4d5e", { beginning: "b2c4d5e" }],
  ["any other text is a beginning", "3f6a-1b2c", { beginning: "3f6a-1b2c" }],
])("the searched part of an ID is read: %s", (_, text, part) => expect(read(text)).toEqual(part));
