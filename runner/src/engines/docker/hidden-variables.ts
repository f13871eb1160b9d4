/**
 * A model's variables without a trace: whatever is in a container's configuration, `docker inspect`
 * shows to everybody who may ask Docker, and Docker writes it to the machine's disk. So a shell of
 * the image reads them from its standard input and becomes what the image starts. It takes an image
 * that has /bin/sh and env; the few that have not get them in the configuration all the same.
 */

/** Names and values come as one line, in which "$n" stands for the ends of others. */
const SCRIPT = `n='
'; IFS= read -r s || exit 1; eval "exec env $s \\"\\$@\\" </dev/null"`;

export const SHELL = "/bin/sh";

/** In the place of a container's own. */
export function hideVariables(command: readonly string[]) {
  return {
    Entrypoint: [SHELL, "-c", SCRIPT, "sh"],
    Cmd: [...command],
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
  };
}

/** What the shell is to read. */
export const variablesLine = (variables: Record<string, string>): string =>
  `${Object.entries(variables)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(" ")}\n`;

const quote = (value: string): string =>
  `'${value.replaceAll("'", `'\\''`).replaceAll("\n", `'"$n"'`)}'`;

/** What an image starts: its ENTRYPOINT, and its CMD or what is put in its place. */
export function startCommand(
  { Entrypoint, Cmd }: { Entrypoint?: string | string[] | null; Cmd?: string[] | null },
  instead?: readonly string[],
): string[] {
  const entrypoint = typeof Entrypoint === "string" ? [Entrypoint] : (Entrypoint ?? []);
  return [...entrypoint, ...(instead ?? Cmd ?? [])];
}
