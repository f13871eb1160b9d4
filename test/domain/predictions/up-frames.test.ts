/** Frames of a hostile runner with text between their values. */
import { expect, test } from "vitest";
import { parseFrame } from "../../../src/objects/prediction/runner-connection.ts";

const frame = (events: string, more = "") =>
  `{"type":"events","seq":1,"events":[${events}]${more}}`;
const finish = '{"status":"succeeded","output":"items"}';

test.each([
  ["a second value", frame('{"event":"output","data":"x","data":"y"}')],
  ["another member", frame('{"event":"output","data":"y","x":1}')],
  [
    "a second list",
    frame('{"event":"output","data":"x"}', ',"events":[{"event":"output","data":"y"}]'),
  ],
  [
    "a second list after the end",
    frame(
      '{"event":"output","data":"x"}',
      `,"finish":${finish},"\\u0065vents":[{"event":"output","data":"y"}]`,
    ),
  ],
])("a frame with %s reaches no reader", (_, text) => {
  expect(parseFrame(text)).toMatchObject({
    events: [{ event: "output", data: "y" }],
    texts: ['"y"'],
  });
});

test("a frame that ends a run keeps the digits of its outputs", () => {
  const text = frame(
    '{"event":"output","data":1.0},{"event":"logs","data":"]"}',
    `,"finish":${finish}`,
  );
  expect(parseFrame(text)).toMatchObject({ texts: ["1.0", '"]"'] });
});
