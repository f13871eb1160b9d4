/** `npm run backup`: see command.ts. */
import { BackupApi } from "./api.ts";
import { runCommand } from "./command.ts";

const { AUSPEX_URL, OPERATOR_TOKEN, BACKUP_KEY = "" } = process.env;
const ending = new AbortController();
process.once("SIGINT", () => ending.abort(new Error("Stopped. The same command goes on.")));

function api(): BackupApi {
  if (!AUSPEX_URL || !OPERATOR_TOKEN)
    throw new Error("Set AUSPEX_URL and OPERATOR_TOKEN to the deployment's.");
  return new BackupApi(AUSPEX_URL, OPERATOR_TOKEN, ending.signal);
}

try {
  await runCommand(process.argv.slice(2), {
    api,
    keys: BACKUP_KEY.split(",").filter(Boolean),
    say: console.log,
    signal: ending.signal,
    lookMs: 5_000,
  });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
