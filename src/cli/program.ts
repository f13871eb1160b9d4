/** All commands, and what `auspex --help` says. */
import { Command } from "@commander-js/extra-typings";
import { cancelCommand } from "./commands/cancel.ts";
import { initCommand } from "./commands/init.ts";
import { loginCommand, logoutCommand } from "./commands/login.ts";
import { logsCommand } from "./commands/logs.ts";
import { modelsCommand } from "./commands/models.ts";
import { predictionsCommand } from "./commands/predictions.ts";
import { publishCommand } from "./commands/publish.ts";
import { relayCommand } from "./commands/relay.ts";
import { runCommand } from "./commands/run.ts";
import type { Host } from "./commands/session.ts";
import { uploadCommand } from "./commands/upload.ts";
import { versionsCommand } from "./commands/versions.ts";
import { TELLS_MORE } from "./failure.ts";
import { VERSION } from "./package.ts";

const END = `
Settings: AUSPEX_URL and AUSPEX_TOKEN, or what auspex login keeps.
Exit codes: 0 done, 1 failed, 2 used wrongly, 130 interrupted.`;

interface ProgramOptions {
  /** Whether it prints itself what is wrong with options and arguments. */
  printsMisuse: boolean;
}

export function createProgram(host: Host, { printsMisuse }: ProgramOptions): Command {
  const program = new Command("auspex")
    .description("Publishes models to an Auspex deployment, and runs them.")
    .version(VERSION, "-v, --version")
    .showSuggestionAfterError()
    .addHelpText("after", END)
    .exitOverride();
  if (!printsMisuse) program.configureOutput({ writeErr: () => {} });
  for (const create of [
    loginCommand,
    logoutCommand,
    initCommand,
    publishCommand,
    runCommand,
    predictionsCommand,
    logsCommand,
    cancelCommand,
    modelsCommand,
    versionsCommand,
    uploadCommand,
    relayCommand,
  ]) {
    program.addCommand(create(host).copyInheritedSettings(program).showHelpAfterError(TELLS_MORE));
  }
  return program;
}
