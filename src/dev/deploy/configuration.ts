/** Settings of wrangler.toml for everything that has to be made before the Worker. */
import { join } from "node:path";
import { z } from "zod";
import { checkOidcVariables } from "../../env-oidc.ts";
import { checkTraceVariables } from "../../env-traces.ts";
import { ROOT } from "../bundle.ts";

export interface Configuration {
  worker: string;
  /** Id of the account, if the file names one. */
  account: string | undefined;
  database: string;
  buckets: { name: string; jurisdiction: string | undefined }[];
  queues: string[];
  /** Jurisdiction of Durable Objects, and of everything that a deploy makes. Empty: anywhere. */
  jurisdiction: string;
  filesOrigin: string;
  /** Whether the Worker needs the secret OIDC_CLIENT_SECRET. */
  oidc: boolean;
}

const FILE = "wrangler.toml";

const shape = z.object({
  name: z.string(),
  account_id: z.string().optional(),
  vars: z.object({
    JURISDICTION: z.string(),
    FILES_ORIGIN: z.string(),
    OIDC_ISSUER: z.string(),
  }),
  d1_databases: z.tuple([z.object({ database_name: z.string() })]),
  r2_buckets: z.array(z.object({ bucket_name: z.string(), jurisdiction: z.string().optional() })),
  queues: z.object({
    producers: z.array(z.object({ queue: z.string() })),
    consumers: z.array(z.object({ queue: z.string(), dead_letter_queue: z.string().optional() })),
  }),
});

/** Importing wrangler takes a second. @throws Error if wrangler.toml contradicts itself */
export async function readConfiguration(file = join(ROOT, FILE)): Promise<Configuration> {
  const { unstable_readConfig } = await import("wrangler");
  const config = unstable_readConfig({ config: file });
  const { name, account_id, vars, d1_databases, r2_buckets, queues } = shape.parse(config);
  checkOidcVariables(config.vars);
  checkTraceVariables(config.vars);
  const [{ database_name: database }] = d1_databases;
  const buckets = r2_buckets.map(({ bucket_name, jurisdiction }) => ({
    name: bucket_name,
    jurisdiction,
  }));
  const other = buckets.find(
    ({ jurisdiction = "" }) => jurisdiction !== partsIn(vars.JURISDICTION),
  );
  if (other) {
    throw new Error(
      `${FILE}: ${other.name} has to be in the jurisdiction of everything else. Under its [[r2_buckets]], ${
        vars.JURISDICTION ? `set jurisdiction = "${partsIn(vars.JURISDICTION)}"` : "remove it"
      }, or change JURISDICTION.`,
    );
  }
  return {
    worker: name,
    account: account_id,
    database,
    buckets,
    queues: [
      ...new Set([
        ...queues.producers.map(({ queue }) => queue),
        ...queues.consumers.flatMap(({ queue, dead_letter_queue: dead }) => [queue, dead ?? queue]),
      ]),
    ],
    jurisdiction: partsIn(vars.JURISDICTION),
    filesOrigin: vars.FILES_ORIGIN,
    oidc: vars.OIDC_ISSUER !== "",
  };
}

/** Only Durable Objects have `fedramp-high`. */
const partsIn = (jurisdiction: string) => jurisdiction.replace("-high", "");
