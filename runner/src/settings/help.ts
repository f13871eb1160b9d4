/** What `auspex-runner --help` prints; the settings describe themselves. */
import { flagOf, settingsSchema, variableOf } from "./settings.ts";

/** Of the settings below it takes the address only: it runs wherever the file is. */
const UPLOAD = `Upload needs the address (--url, AUSPEX_URL) and the token of a user with the scope predict
(AUSPEX_TOKEN, --token-file), and takes:

  --mime-type TYPE  what it is (guessed from the name's ending)
  --name NAME       what it is called when it is downloaded (as the file)
  --parallel N      parts that are sent at a time (4)
  --quiet, -q       no progress, only the address

The same command on the same unchanged file goes on where an earlier one was broken off.`;

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
auspex-runner check [--json] says what is wrong with this machine, and what to do
auspex-runner digest FOLDER  the digest of a model folder (process engine)
auspex-runner upload FILE    sends a file to the deployment and prints the address of the upload
auspex-runner --version | --help

${UPLOAD}

Settings, as flags, from the environment, or in a file (with _ for -); flags beat the environment,
which beats the file.

${lines.join("\n")}`;
}
