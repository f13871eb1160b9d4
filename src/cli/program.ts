/** The command `auspex`: its commands, the way it was called, and its exit code. */
import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { usageCommand, whoamiCommand } from "./commands/account.ts";
import { deployCommand, deploymentsCommand } from "./commands/deployments.ts";
import { initCommand } from "./commands/init.ts";
import { loginCommand, logoutCommand } from "./commands/login.ts";
import {
  hardwareCommand,
  modelsCommand,
  rollbackCommand,
  tagsCommand,
  versionsCommand,
} from "./commands/models.ts";
import { openCommand } from "./commands/open.ts";
import { orgsCommand, switchCommand } from "./commands/organizations.ts";
import { cancelCommand, logsCommand, predictionsCommand } from "./commands/predictions.ts";
import { publishCommand } from "./commands/publish.ts";
import { runCommand } from "./commands/run.ts";
import { uploadCommand } from "./commands/upload.ts";
import { variablesCommand } from "./commands/variables.ts";
import { EXIT, type Explanation, explain, HELP_HINT, Interrupted } from "./failure.ts";
import { requireNode, VERSION } from "./folders.ts";
import type { Host } from "./session.ts";
import { safeText } from "./ui/output.ts";

/** Runs the command with these arguments. @returns the exit code */
export async function runProgram(args: string[], host: Host): Promise<number> {
  const { signal, stderr } = host;
  const isJson = isJsonWanted(args);
  const program = createProgram(host, { printsMisuse: !isJson });
  try {
    requireNode(process.versions.node);
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // Commander has printed the error or the help.
    if (error instanceof CommanderError && !isJson) return EXIT.misused;
    const explanation = explain(signal.aborted ? whileStopped(error, signal) : error);
    // The end of a pipe such as `head` is not an error to print.
    if (explanation.message === "") return explanation.code;
    stderr.write(`${safeText(isJson ? asJson(explanation) : `auspex: ${explanation.message}`)}\n`);
    return explanation.code;
  }
}

/** An interrupt hides the errors that it causes. */
const whileStopped = (error: unknown, { reason }: AbortSignal): unknown =>
  error instanceof Interrupted ? error : reason;

/** `--json` prints errors as JSON, too. */
const asJson = ({ message, status, code }: Explanation): string =>
  JSON.stringify({ error: { message, ...(status && { status }), exit_code: code } });

function isJsonWanted(args: string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? undefined : end).includes("--json");
}

const END = `
Set AUSPEX_URL and AUSPEX_TOKEN, or run auspex login.
A name without an owner is a model of the current account: story is ada/story if you are ada.
Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.`;

/** The commands by their headings in the help. */
const GROUPS: [heading: string, commands: ((host: Host) => CommandUnknownOpts)[]][] = [
  [
    "Account:",
    [
      loginCommand,
      logoutCommand,
      whoamiCommand,
      orgsCommand,
      switchCommand,
      usageCommand,
      openCommand,
    ],
  ],
  ["Publish:", [initCommand, publishCommand, deployCommand, rollbackCommand]],
  ["Run:", [runCommand, predictionsCommand, logsCommand, cancelCommand, uploadCommand]],
  [
    "Manage:",
    [
      modelsCommand,
      deploymentsCommand,
      versionsCommand,
      tagsCommand,
      variablesCommand,
      hardwareCommand,
    ],
  ],
];

interface ProgramOptions {
  /** Whether Commander prints errors of options and arguments itself. */
  printsMisuse: boolean;
}

function createProgram(host: Host, { printsMisuse }: ProgramOptions): Command {
  const program = new Command("auspex")
    .description("Publish and run models on an Auspex deployment.")
    .version(VERSION, "-v, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "Show help for a command")
    .commandsGroup("Manage:")
    .showSuggestionAfterError()
    // `enablePositionalOptions` gives options after `delete` to `delete`, also if `models` has the option.
    .enablePositionalOptions()
    .addHelpText("after", END)
    .exitOverride();
  program.configureOutput({
    writeOut: (text) => void host.stdout.write(text),
    writeErr: (text) => void host.stderr.write(text),
    outputError: (text, write) => write(text.replace(/^error: /, "auspex: ")),
  });
  if (!printsMisuse) program.configureOutput({ writeErr: () => {} });
  for (const [heading, commands] of GROUPS)
    for (const create of commands) {
      const command = create(host).helpGroup(heading);
      program.addCommand(command);
      adopt(program, command);
    }
  return program;
}

function adopt(parent: Command, command: CommandUnknownOpts): void {
  command.copyInheritedSettings(parent).showHelpAfterError(HELP_HINT);
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
