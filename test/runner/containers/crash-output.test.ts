/** The last output of a container that died, as far as the log does not have it. */
import { expect, test } from "vitest";
import { unlogged } from "../../../runner/src/containers/run-job.ts";

test.each([
  ["nothing was logged", "a\nb", "", "a\nb\n"],
  ["some was", "a\nb\nc", "x\na\nb\n", "c\n"],
  ["all was, in other chunks", "a\nb\n", "a\r\nb", ""],
  ["its last line was not ended", "b\nc", "a\nb", "\nc\n"],
  ["nothing was printed", "", "a", ""],
])("the last output is found when %s", (_, printed, logged, expected) => {
  expect(unlogged(printed, logged)).toBe(expected);
});
