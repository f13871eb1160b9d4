/** `npm run backup`: see command.ts. */

import { messageOf } from "../client.ts";
import { misused, readAddress, readCommandLine } from "../command-line.ts";
import { BackupApi } from "./api.ts";
import { runCommand, USAGE } from "./command.ts";

const { AUSPEX_URL, AUSPEX_TOKEN, OPERATOR_TOKEN, BACKUP_KEY = "" } = process.env;
const token = OPERATOR_TOKEN || AUSPEX_TOKEN;
const FIRST_DELAY_MS = 1_000;
const ending = new AbortController();
process.once("SIGINT", () =>
  ending.abort(new Error("Stopped. Run the same command again to resume.")),
);

function api(): BackupApi {
  if (!AUSPEX_URL || !token) return misused(USAGE, "Set AUSPEX_URL and AUSPEX_TOKEN.");
  const url = readAddress(USAGE, AUSPEX_URL);
  return new BackupApi(url, token, ending.signal, FIRST_DELAY_MS, (error) =>
    console.error(`${messageOf(error)} Retrying …`),
  );
}

try {
  const { positionals } = readCommandLine(USAGE, { allowPositionals: true });
  await runCommand(positionals, {
    api,
    // `BACKUP_KEY` is parsed as the deployment does.
    keys: BACKUP_KEY.split(",")
      .map((key) => key.trim())
      .filter(Boolean),
    say: console.log,
    signal: ending.signal,
    lookMs: 5_000,
  });
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
