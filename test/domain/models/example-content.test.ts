import { expect, test } from "vitest";
import { fileNamed, ownFileName } from "../../../src/domain/models/example-content.ts";

const ORIGINS = ["https://here.example", "https://files.example"];
const ID = "01a21b7d-ddf5-754a-80ed-436a03674f00";

test.each([
  [
    `https://here.example/v1/files/${ID}/a-out.png?expires=1&signature=x`,
    { source: ID, name: "a-out.png" },
  ],
  [`https://files.example/v1/files/${ID}/a`, { source: ID, name: "a" }],
  [`/v1/uploads/${ID}`, { source: ID, name: undefined }],
  [`https://elsewhere.example/v1/files/${ID}/a`, undefined],
  [`https://here.example/v1/files/${ID}/a/b`, undefined],
  ["a text about /v1/files", undefined],
])("the text %s names the files %j", (text, named) => {
  expect(fileNamed(text, ORIGINS)).toEqual(named);
});

test("the files of an example are those below its ID", () => {
  expect(ownFileName("e1", "/v1/files/e1/0-out.png")).toBe("0-out.png");
  expect(ownFileName("e1", "/v1/files/e2/0-out.png")).toBeUndefined();
});
