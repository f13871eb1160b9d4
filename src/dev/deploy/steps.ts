/** Resources that a Worker is bound to and that have to be made before it: queues, buckets, the database. */

import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Cloudflare } from "./cloudflare.ts";
import { appliedMigrations, findDatabase } from "./migrations.ts";
import type { Step } from "./step.ts";

const anything = z.unknown();
const NO_BUCKET = 10006;

export const queues: Step = {
  title: "Queues",
  async run({ cloudflare, configuration: { queues: names, jurisdiction }, note, change }) {
    const query = new URLSearchParams(names.map((name): [string, string] => ["name", name]));
    const shape = z.array(z.object({ queue_name: z.string() }));
    const there = await cloudflare.call("GET", `/queues?${query}`, { shape });
    for (const name of names) {
      const body = { queue_name: name, ...(jurisdiction && { jurisdiction }) };
      if (there.some(({ queue_name }) => queue_name === name)) note(`${name} exists`);
      else
        await change(`create ${name}`, () =>
          cloudflare.call("POST", "/queues", { shape: anything, body }),
        );
    }
  },
};

export const buckets: Step = {
  title: "R2 buckets",
  async run({ cloudflare, configuration, note, change }) {
    for (const { name, jurisdiction } of configuration.buckets) {
      const there = await cloudflare.find(`/r2/buckets/${name}`, [NO_BUCKET], {
        shape: z.object({ name: z.string() }),
        jurisdiction,
      });
      if (there) note(`${name} exists`);
      else
        await change(`create ${name}`, () =>
          cloudflare.call("POST", "/r2/buckets", { shape: anything, body: { name }, jurisdiction }),
        );
    }
  },
};

/** Operators decide whether a database in use has read replicas. */
export const database: Step = {
  title: "D1 database",
  async run({ cloudflare, configuration: { database: name, jurisdiction }, note, change }) {
    const there = await findDatabase(cloudflare, name);
    const body = { name, ...(jurisdiction && { jurisdiction }) };
    if (there) note(`${name} exists`);
    else
      await change(`create ${name}`, () =>
        cloudflare.call("POST", "/d1/database", { shape: anything, body }),
      );
    if (there && (await appliedMigrations(cloudflare, name))?.length) return;
    await change(`enable read replication of ${name}`, async () => {
      try {
        const made = there ?? (await findDatabase(cloudflare, name));
        if (!made) throw new Error("the new database is not available yet");
        const replicated = { read_replication: { mode: "auto" } };
        await cloudflare.call("PATCH", `/d1/database/${made.uuid}`, {
          shape: anything,
          body: replicated,
        });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        note(
          `not enabled (${why}); enable it in Cloudflare's dashboard, in the settings of ${name}`,
        );
      }
    });
  },
};

/** The login is the first step, so that a missing login is the only error shown. */
export const account: Step = {
  title: "Cloudflare account",
  async run({ cloudflare, note }) {
    const { name, id } = await cloudflare.account();
    note(`${name} (${id})`);
  },
};

const REQUIRED = {
  OPERATOR_TOKEN: "for /set-up, and if no operator can log in",
  SECRET_KEY: "signs sessions and file URLs, and encrypts variables; needed to rotate it",
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
    if (configuration.oidc && !set.has("OIDC_CLIENT_SECRET")) {
      throw new Error(
        "wrangler.toml has an OIDC_ISSUER, but the secret of its client is not set. Set it with: npx wrangler secret put OIDC_CLIENT_SECRET",
      );
    }
    const missing: Record<string, string> = {};
    for (const [name, purpose] of Object.entries(REQUIRED)) {
      if (set.has(name)) note(`${name} is set`);
      else
        await change(`set ${name}: ${purpose}`, async () => {
          missing[name] = given[name] || generated(given);
          // The secret is shown before it is sent: Cloudflare may have stored it although the request failed.
          if (given[name]) note(`${name} is set from your environment`);
          else note(`${name}  ${missing[name]}  save it, it is shown only once`);
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
      `A generated secret would end up in your CI log. Set ${names} in the environment, each with at least 32 random characters.`,
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
const PROBE = "/health";
/** A new address of workers.dev needs a minute or two until its name and certificate are everywhere. */
const PATIENCE_MS = 5 * 60_000;
const INTERVAL_MS = 2_000;

/** @param patienceMs how long to wait for the Worker; only tests set it */
export const answers = (address: Address, patienceMs = PATIENCE_MS): Step => ({
  title: "Address",
  async run({ note, change }) {
    const { url } = address;
    await change(`wait until ${url ?? "it"} responds`, async () => {
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
            `The Worker is deployed, but ${url}${PROBE} ${last}. Check its log with: npx wrangler tail`,
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
    return response.ok ? "" : `returned ${response.status}`;
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    return `does not respond (${cause instanceof Error ? cause.message : String(error)})`;
  }
}
