/**
 * The terminal of a person who deploys, on a machine of their own: this machine's login and settings are not
 * seen.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cloudflare, type Wrangler, wrangler } from "../../../../src/dev/deploy/cloudflare.ts";
import { readConfiguration } from "../../../../src/dev/deploy/configuration.ts";
import { runSteps, type Step } from "../../../../src/dev/deploy/step.ts";
import { runScript } from "./script.ts";

export const configuration = await readConfiguration();

export class Terminal {
  readonly folder = mkdtempSync(join(tmpdir(), "auspex-terminal-"));
  readonly #environment: Record<string, string>;

  constructor(environment: Record<string, string>) {
    const home = { HOME: this.folder, XDG_CONFIG_HOME: this.folder };
    this.#environment = { ...home, WRANGLER_SEND_METRICS: "false", ...environment };
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs `npm run deploy` with these arguments. */
  deploy(...args: string[]): Promise<{ code: number; output: string }> {
    return runScript("src/dev/deploy/main.ts", args, this.#environment);
  }

  /** The real wrangler, in the environment of this terminal. */
  readonly wrangler: Wrangler = (args, { input, environment } = {}) =>
    wrangler(args, { input, environment: { ...this.#environment, ...environment } });

  /** Runs one step of a deploy. @returns the lines that it says @throws StepFailed */
  async run(step: Step, settings = configuration): Promise<string> {
    const lines: string[] = [];
    const say = (line: string) => lines.push(line);
    const cloudflare = new Cloudflare(this.wrangler, undefined, this.#environment);
    await runSteps([step], { cloudflare, configuration: settings, dryRun: false, say });
    return lines.join("\n");
  }
}
