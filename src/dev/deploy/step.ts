/** Shared parts of the steps of a deploy. Each step looks first, and only makes what is missing. */
import { adviceOn, type Cloudflare } from "./cloudflare.ts";
import type { Configuration } from "./configuration.ts";

export interface Context {
  cloudflare: Cloudflare;
  configuration: Configuration;
  /** Prints one line on a result of a step. */
  note(text: string): void;
  /** Prints a change, and makes it unless this is a dry run. */
  change(what: string, how: () => Promise<unknown>): Promise<void>;
}

export interface Step {
  title: string;
  run(context: Context): Promise<void>;
}

export class StepFailed extends Error {}

/** Runs the steps in order. @throws StepFailed with advice, at the first that fails */
export async function runSteps(
  steps: readonly Step[],
  {
    dryRun,
    say,
    ...context
  }: Pick<Context, "cloudflare" | "configuration"> & {
    dryRun: boolean;
    say(text: string): void;
  },
): Promise<void> {
  const note = (text: string) => say(`    ${text}`);
  for (const [index, { title, run }] of steps.entries()) {
    say(`${index + 1}/${steps.length} ${title}`);
    const change = async (what: string, how: () => Promise<unknown>) => {
      note(dryRun ? `would change: ${what}` : `${what} …`);
      if (!dryRun) await how();
    };
    await run({ ...context, note, change }).catch((error: unknown) => {
      throw new StepFailed(failure(title, error, dryRun));
    });
  }
}

function failure(title: string, error: unknown, dryRun: boolean): string {
  const known = error instanceof Error ? error : new Error(String(error));
  const advice = adviceOn(known);
  return [
    `This step failed: ${title}`,
    known.message,
    ...(advice === undefined ? [] : [advice]),
    dryRun
      ? "Nothing was changed."
      : "Completed steps are kept. Run it again to continue from here.",
  ].join("\n\n");
}
