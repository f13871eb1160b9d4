/** `npm run deploy`: from nothing to a deployment on your Cloudflare account, and later its updates. */
import { readAddress, readCommandLine } from "../command-line.ts";
import { Cloudflare, wrangler } from "./cloudflare.ts";
import { readConfiguration } from "./configuration.ts";
import { migrations } from "./migrations.ts";
import { runSteps } from "./step.ts";
import {
  type Address,
  account,
  answers,
  buckets,
  code,
  database,
  queues,
  secrets,
} from "./steps.ts";

const USAGE = `npm run deploy -- [--dry-run] [--url https://auspex.example.com]

  --dry-run  show the changes without making them
  --url      address of the deployment, if wrangler reports a different one`;

const { values } = readCommandLine(USAGE, {
  options: {
    "dry-run": { type: "boolean", default: false },
    url: { type: "string" },
  },
});

const say = (text: string) => console.log(text);

async function main(): Promise<void> {
  const address: Address = { url: values.url && readAddress(USAGE, values.url) };
  const steps = [
    account,
    queues,
    buckets,
    database,
    migrations(),
    secrets(process.env),
    code(address),
    answers(address),
  ];
  const dryRun = values["dry-run"];
  const configuration = await readConfiguration();
  const cloudflare = new Cloudflare(wrangler, configuration.account, process.env);
  await runSteps(steps, { cloudflare, configuration, dryRun, say });
  say(dryRun ? "\nNothing was changed. To do it: npm run deploy" : next(address.url ?? ""));
}

const next = (url: string) => `
Auspex is up at ${url}

If it is new:

  1. Open ${url}/set-up and enter the OPERATOR_TOKEN.
  2. Name the class of your machine at ${url}/fleet/hardware, and create a runner token
     for it at ${url}/fleet/tokens, which shows how to start a runner.

  3. Create a token with the scope operator at ${url}/tokens, and check everything from
     outside: AUSPEX_TOKEN=… npm run verify -- ${url}`;

main().catch((error: unknown) => {
  console.error(`\n${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
