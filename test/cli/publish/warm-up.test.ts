/** The trial prediction of `publish --wait`. */
import { expect, test } from "vitest";
import { trialOf } from "../../../src/cli/publish/version.ts";
import { createPrediction } from "../../../src/protocol/prediction.ts";

test("the trial is a plain prediction with the usual retention, so that its logs stay", () => {
  const input = { properties: { name: { type: "string", default: "Ada" } }, required: ["name"] };
  const schemas = { prediction: { input, output: {}, stream_output: false } };
  const trial = createPrediction.parse(trialOf("ada/greeter:1", { schemas }));
  expect(trial.retention_seconds).toBeUndefined();
  expect(trial).toMatchObject({ model: "ada/greeter:1", input: { name: "Ada" }, stream: true });
});
