import { expect, test } from "vitest";
import { parseArguments, SettingsError } from "../../../runner/src/settings/read-settings.ts";

test("flags and a command are parsed", () => {
  const { values, positionals } = parseArguments(["check", "--slots", "2", "--json"]);
  expect(positionals).toEqual(["check"]);
  expect(values).toMatchObject({ slots: "2", json: true });
});

test.each([
  [["--slot", "2"], "Unknown option '--slot'; see --help"],
  [["--slots"], "Option '--slots <value>' argument missing; see --help"],
  [["--json=yes"], "Option '--json' does not take an argument; see --help"],
  [["--token", "ausr_x"], "Unknown option '--token'; see --help"],
])("the arguments %j are refused in one line", (args, message) => {
  expect(() => parseArguments(args)).toThrow(new SettingsError(message));
});
