/**
 * Passes a model's variables to a container without a trace: `docker inspect` shows a container's
 * configuration to everyone with access to Docker, and Docker writes it to disk. So a shell of the
 * image reads the variables from its standard input and then executes the image's command. This
 * needs /bin/sh and env in the image; other images get the variables in their configuration.
 */

/** Names and values arrive as one line, in which "$n" stands for line breaks in values. */
const SCRIPT = `n='
'; IFS= read -r s || exit 1; eval "exec env $s \\"\\$@\\" </dev/null"`;

export const SHELL = "/bin/sh";

/** Replaces the corresponding fields of the container. */
export function hideVariables(command: readonly string[]) {
  return {
    Entrypoint: [SHELL, "-c", SCRIPT, "sh"],
    Cmd: [...command],
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
  };
}

/** The line that the shell reads. */
export const variablesLine = (variables: Record<string, string>): string =>
  `${Object.entries(variables)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(" ")}\n`;

const quote = (value: string): string =>
  `'${value.replaceAll("'", `'\\''`).replaceAll("\n", `'"$n"'`)}'`;

/** Returns an image's command: its ENTRYPOINT, and its CMD or the replacement of the CMD. */
export function startCommand(
  { Entrypoint, Cmd }: { Entrypoint?: string | string[] | null; Cmd?: string[] | null },
  instead?: readonly string[],
): string[] {
  const entrypoint = typeof Entrypoint === "string" ? [Entrypoint] : (Entrypoint ?? []);
  return [...entrypoint, ...(instead ?? Cmd ?? [])];
}
