/**
 * Sets the secrets that are not set. They are generated here, shown once, and handed to wrangler on its
 * standard input: they are in no file, no argument and no environment.
 */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { Cloudflare } from "./cloudflare.ts";
import type { Step } from "./step.ts";

const REQUIRED = {
  OPERATOR_TOKEN: "what operators enter at /set-up, and scripts send to /v1/operator",
  SECRET_KEY: "signs sessions and file addresses, encrypts variables; needed again to rotate it",
};

const BYTES = 32;

const list = z.array(z.object({ name: z.string() }));

/**
 * Secrets are set before the code: on a fresh account wrangler then makes an empty Worker that has them, at
 * no address.
 * @param given secrets to set instead of generated ones: NAME=… npm run deploy
 */
export const secrets = (given: Record<string, string | undefined>): Step => ({
  title: "Secrets",
  async run({ cloudflare, configuration, note, change }) {
    const set = await secretNames(cloudflare, configuration.worker);
    const missing: Record<string, string> = {};
    for (const [name, purpose] of Object.entries(REQUIRED)) {
      if (set.has(name)) note(`${name} is set`);
      else
        await change(`set ${name}: ${purpose}`, async () => {
          missing[name] = given[name] || generated(given);
          // The secret is shown before it is sent: Cloudflare may have stored it although the request failed.
          if (given[name]) note(`${name} is the one of your environment`);
          else note(`${name}  ${missing[name]}  keep it, it is not shown again`);
        });
    }
    if (Object.keys(missing).length === 0) return;
    await cloudflare.wrangler(["secret", "bulk"], { input: JSON.stringify(missing) });
  },
});

/** @throws Error where the output is kept in a log */
function generated({ CI }: Record<string, string | undefined>): string {
  if (CI) {
    const names = Object.keys(REQUIRED).join(" and ");
    throw new Error(
      `A generated secret would be in the log of your CI. Set ${names} in its environment, 32 random characters or more each.`,
    );
  }
  return randomBytes(BYTES).toString("base64url");
}

/** Codes for a missing Worker. Another code among them would replace the secrets of a running deployment. */
const NO_WORKER = [10007, 10090];

/** Returns the names of the Worker's secrets; none if the Worker does not exist yet. */
async function secretNames(cloudflare: Cloudflare, worker: string): Promise<Set<string>> {
  const path = `/workers/scripts/${worker}/secrets`;
  const found = await cloudflare.find(path, NO_WORKER, { shape: list });
  return new Set(found?.map(({ name }) => name));
}
