/** The call that `auspex publish` prints for pasting. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { exampleCall } from "../../../src/cli/publish/version.ts";
import type { Version } from "../../../src/protocol/model.ts";

const NAMES = ["prompt", "$(touch x)", "a b", "it's", "; rm -rf ~", "`id`"];

test("names and values that a shell would run are quoted in the example call", () => {
  const properties = Object.fromEntries(
    NAMES.map((name) => [name, { type: "string", default: `${name} value` }]),
  );
  const input = { type: "object", properties, required: NAMES };
  const version: Pick<Version, "schemas" | "status" | "configuration"> = {
    schemas: { prediction: { input, output: {}, stream_output: false } },
    status: "ready",
    configuration: {},
  };
  const call = exampleCall("ada/story", version) ?? "";
  const words = call.replace("auspex run", "printf '%s\\n'");
  const printed = execFileSync("sh", ["-c", words], { encoding: "utf8" });
  expect(printed.trimEnd().split("\n")).toEqual([
    "ada/story",
    ...NAMES.map((name) => `${name}=${name} value`),
  ]);
});
