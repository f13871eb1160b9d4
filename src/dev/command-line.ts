/** Arguments of npm commands. A mistake ends the command with an error and the usage. */
import { type ParseArgsConfig, parseArgs } from "node:util";

/** Prints the usage if it is asked for. */
export function readCommandLine<Config extends ParseArgsConfig>(
  usage: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).some((one) => one === "--help" || one === "-h")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs<Config>(config);
  } catch (error) {
    // The rest of the message is about positional arguments that begin with a dash; no command has these.
    return misused(usage, String(error instanceof Error ? error.message : error).split(". ")[0]);
  }
}

/** Returns the value of an option that takes a number. */
export function readNumber(
  usage: string,
  option: string,
  text: string,
  { least = 1, most = Number.MAX_SAFE_INTEGER, whole = true } = {},
): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  const kind = whole ? "a whole number" : "a number";
  const range =
    most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `of at least ${least}`;
  return misused(usage, `--${option} takes ${kind} ${range}, not “${text}”.`);
}

/** Reads the address of a deployment. @returns it without a path */
export function readAddress(usage: string, text: string): string {
  const url = URL.parse(text);
  if (url?.protocol === "https:" || url?.protocol === "http:") return url.origin;
  return misused(usage, `“${text}” is no address such as https://auspex.example.com.`);
}

/** @param what the error */
export function misused(usage: string, what?: string): never {
  console.error([what, usage].filter(Boolean).join("\n\n"));
  process.exit(1);
}
