/** The text of `auspex-runner --help`, generated from the settings' descriptions. */
import { flagOf, settingsSchema, variableOf } from "./settings.ts";

/** Of the settings below, upload uses only the URL: it runs on any machine that has the file. */
const UPLOAD = `Upload needs the URL (--url, AUSPEX_URL) and a user token with the scope predict
(AUSPEX_TOKEN, --token-file). Its options:

  --mime-type TYPE  media type (default: guessed from the file extension)
  --name NAME       file name for downloads (default: the file's name)
  --parallel N      parts sent in parallel (default: 4)
  --quiet, -q       print only the URL, no progress

Run the same command again on the unchanged file to resume an interrupted upload.`;

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
auspex-runner upload FILE    uploads a file to the deployment and prints its URL
auspex-runner --version | --help

${UPLOAD}

Settings can be given as flags, as environment variables, or in a file (with _ for -). Flags take
precedence over the environment, and the environment over the file.

${lines.join("\n")}`;
}
