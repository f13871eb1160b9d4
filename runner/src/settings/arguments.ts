/** Parses the command line. */
import { parseArgs } from "node:util";
import { messageOf } from "../lib/error.ts";
import { SETTING_FLAGS, SettingsError } from "./read-settings.ts";

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
