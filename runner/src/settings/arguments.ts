/** Parses the command line. */
import { parseArgs } from "node:util";
import { messageOf } from "../lib/error.ts";
import { SETTING_FLAGS, SettingsError } from "./read-settings.ts";
import { flagOf, settingsSchema, variableOf } from "./settings.ts";

/** @throws SettingsError */
export function parseArguments(args?: string[]) {
  const options = {
    ...SETTING_FLAGS,
    config: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
    version: { type: "boolean", short: "v" },
  } as const;
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // Node adds a hint about positional arguments, which have another cause here: a misspelled flag.
    const [problem] = messageOf(error).split(/\.\s/);
    throw new SettingsError(`${problem}; see --help`);
  }
}

/** The text of `auspex-runner --help`, generated from the settings' descriptions. */
export function help(): string {
  const rows = Object.entries(settingsSchema.shape).map(([name, schema]) => [
    name === "token" ? "" : `--${flagOf(name)}`,
    variableOf(name),
    schema.description ?? "",
  ]);
  const lines = [
    ...rows,
    ["--config", "AUSPEX_CONFIG", "JSON file with any of these settings"],
  ].map(
    ([flag = "", variable = "", text = ""]) =>
      `  ${flag.padEnd(17)} ${variable.padEnd(22)} ${text}`,
  );
  return `auspex-runner [run]          runs predictions of an Auspex deployment on this machine
auspex-runner check [--json] checks this machine and says how to fix problems
auspex-runner digest FOLDER  prints the digest of a model folder (process engine)
auspex-runner --version | --help

Settings can be given as flags, as environment variables, or in a file (with _ for -). Flags take
precedence over the environment, and the environment over the file.

${lines.join("\n")}`;
}
