/** Uploads the Worker, and waits until it answers. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Step } from "./step.ts";

/** Address of the deployment: the one that was given, or else the first that wrangler reports. */
export interface Address {
  url: string | undefined;
}

export const code = (address: Address): Step => ({
  title: "Worker",
  async run({ cloudflare, configuration, change }) {
    await change(`deploy ${configuration.worker}`, async () => {
      const folder = await mkdtemp(join(tmpdir(), "auspex-deploy-"));
      const report = join(folder, "report.ndjson");
      try {
        // The output is shown, since wrangler asks once for the account's subdomain of workers.dev.
        const environment = { WRANGLER_OUTPUT_FILE_PATH: report };
        await cloudflare.wrangler(["deploy"], { shown: true, environment });
        address.url ??= addressIn(await readFile(report, "utf8"), configuration.filesOrigin);
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  },
});

const deployed = z.object({ type: z.literal("deploy"), targets: z.array(z.string()) });

/** Custom domains are preferred to that of workers.dev. */
export function addressIn(report: string, filesOrigin: string): string | undefined {
  const entries = report.split("\n").filter(Boolean);
  const targets = entries.flatMap((line) => {
    const { data } = deployed.safeParse(JSON.parse(line));
    return data?.targets ?? [];
  });
  const origins = targets.flatMap((target) => {
    const [, host] = /^(?:https:\/\/)?([\w-]+(?:\.[\w-]+)+)(?:[/ ]|$)/.exec(target) ?? [];
    return host === undefined ? [] : [`https://${host}`];
  });
  const pages = origins.filter((origin) => origin !== filesOrigin);
  return pages.find((origin) => !origin.endsWith(".workers.dev")) ?? pages[0];
}

/** A path that answers from the database, without a token. */
const PROBE = "/v1/hardware";
/** A new address of workers.dev needs a minute or two until its name and certificate are everywhere. */
const PATIENCE_MS = 5 * 60_000;
const INTERVAL_MS = 2_000;

/** @param patienceMs how long to wait for the Worker; only tests set it */
export const answers = (address: Address, patienceMs = PATIENCE_MS): Step => ({
  title: "Address",
  async run({ note, change }) {
    const { url } = address;
    await change(`wait until ${url ?? "it"} answers`, async () => {
      if (url === undefined) {
        throw new Error(
          "The Worker has no address. Add a custom domain to wrangler.toml, or allow workers.dev.",
        );
      }
      const end = performance.now() + patienceMs;
      for (let last = ""; ; await sleep(INTERVAL_MS)) {
        last = await problemAt(url);
        if (last === "") return note(`${url} answers`);
        if (performance.now() > end) {
          throw new Error(
            `The Worker is deployed, but ${url}${PROBE} ${last}. See what it logs: npx wrangler tail`,
          );
        }
      }
    });
  },
});

/** Empty: none. */
async function problemAt(url: string): Promise<string> {
  try {
    const response = await fetch(`${url}${PROBE}`, { signal: AbortSignal.timeout(10_000) });
    await response.body?.cancel();
    return response.ok ? "" : `answers ${response.status}`;
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    return `does not answer (${cause instanceof Error ? cause.message : String(error)})`;
  }
}
