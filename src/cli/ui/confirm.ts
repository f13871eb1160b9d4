/** Asks before something is gone for good. */
import { confirm, isCancel } from "@clack/prompts";
import { Failure, Interrupted, Misuse } from "../failure.ts";
import { safeText } from "./safe-text.ts";
import { isInteractive } from "./terminal.ts";

export interface ConfirmOptions {
  yes?: boolean;
  json?: boolean;
}

/**
 * @param question read only if somebody can be asked
 * @throws Misuse in a script that does not say --yes; Failure if the answer is no
 */
export async function confirmed(
  { yes = false, json = false }: ConfirmOptions,
  question: () => Promise<string> | string,
): Promise<void> {
  if (yes) return;
  if (json || !isInteractive())
    throw new Misuse("Nobody can be asked here whether this is meant: add --yes.");
  const answer = await confirm({
    message: safeText(await question()),
    initialValue: false,
    output: process.stderr,
  });
  if (isCancel(answer)) throw new Interrupted("SIGINT");
  if (!answer) throw new Failure("Nothing was deleted.");
}
