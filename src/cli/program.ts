/** All commands, and the help of `auspex`. */
import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { hardwareCommand } from "./commands/hardware.ts";
import { initCommand } from "./commands/init.ts";
import { loginCommand, logoutCommand } from "./commands/login.ts";
import { modelsCommand } from "./commands/models.ts";
import { cancelCommand, logsCommand, predictionsCommand } from "./commands/predictions.ts";
import { publishCommand } from "./commands/publish.ts";
import { runCommand } from "./commands/run.ts";
import type { Host } from "./commands/session.ts";
import { tagsCommand } from "./commands/tags.ts";
import { uploadCommand } from "./commands/upload.ts";
import { variablesCommand } from "./commands/variables.ts";
import { versionsCommand } from "./commands/versions.ts";
import { TELLS_MORE } from "./failure.ts";
import { VERSION } from "./folders.ts";

const END = `
Settings: AUSPEX_URL and AUSPEX_TOKEN, or what auspex login keeps.
Exit codes: 0 done, 1 failed, 2 used wrongly, 130 interrupted.`;

interface ProgramOptions {
  /** Whether Commander prints errors of options and arguments itself. */
  printsMisuse: boolean;
}

export function createProgram(host: Host, { printsMisuse }: ProgramOptions): Command {
  const program = new Command("auspex")
    .description("Publishes models to an Auspex deployment, and runs them.")
    .version(VERSION, "-v, --version")
    .showSuggestionAfterError()
    // `enablePositionalOptions` gives options after `delete` to `delete`, also if `models` has the option.
    .enablePositionalOptions()
    .addHelpText("after", END)
    .exitOverride();
  program.configureOutput({
    outputError: (text, write) => write(text.replace(/^error: /, "auspex: ")),
  });
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
    tagsCommand,
    variablesCommand,
    hardwareCommand,
    uploadCommand,
  ]) {
    const command = create(host);
    program.addCommand(command);
    adopt(program, command);
  }
  return program;
}

function adopt(parent: Command, command: CommandUnknownOpts): void {
  command.copyInheritedSettings(parent).showHelpAfterError(TELLS_MORE);
  for (const own of command.commands) {
    adopt(parent, own);
    own.hook("preAction", (_, called) => takeOver(command, called));
  }
}

/** `models --json delete` is `models delete --json`. */
function takeOver(parent: CommandUnknownOpts, command: CommandUnknownOpts): void {
  for (const name of command.options.map((option) => option.attributeName()))
    if (parent.getOptionValueSource(name) === "cli" && !command.getOptionValueSource(name))
      command.setOptionValueWithSource(name, parent.getOptionValue(name), "cli");
}
