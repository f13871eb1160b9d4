/** What `auspex-runner --help` prints; the settings describe themselves. */
import { flagOf, settings, variableOf } from "./settings.ts";

export function help(): string {
  const rows = Object.entries(settings.shape).map(([name, schema]) => [
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
auspex-runner check [--json] says what is wrong with this machine, and what to do
auspex-runner digest FOLDER  the digest of a model folder (process engine)
auspex-runner --version | --help

Settings, as flags, from the environment, or in a file (with _ for -); flags beat the environment,
which beats the file.

${lines.join("\n")}`;
}
