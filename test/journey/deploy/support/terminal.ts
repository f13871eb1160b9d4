/** Whoever deploys, at a machine of their own: nothing of this one's login or settings is seen. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cloudflare } from "../../../../src/dev/deploy/cloudflare.ts";
import { readConfiguration } from "../../../../src/dev/deploy/configuration.ts";
import { runSteps, type Step } from "../../../../src/dev/deploy/step.ts";
import { type Wrangler, wrangler } from "../../../../src/dev/deploy/wrangler.ts";
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

  /** `npm run deploy` with these arguments. */
  deploy(...args: string[]): Promise<{ code: number; output: string }> {
    return runScript("src/dev/deploy/main.ts", args, this.#environment);
  }

  /** The real one, here. */
  readonly wrangler: Wrangler = (args, { input, environment } = {}) =>
    wrangler(args, { input, environment: { ...this.#environment, ...environment } });

  /** One step of a deploy. @returns what it says @throws StepFailed */
  async run(step: Step, settings = configuration): Promise<string> {
    const lines: string[] = [];
    const say = (line: string) => lines.push(line);
    const cloudflare = new Cloudflare(this.wrangler, undefined, this.#environment);
    await runSteps([step], { cloudflare, configuration: settings, dryRun: false, say });
    return lines.join("\n");
  }
}
