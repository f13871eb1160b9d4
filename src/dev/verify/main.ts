/** `npm run verify -- {address}`: checks a deployment from outside, as its users and runners see it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ROOT } from "../bundle.ts";
import { messageOf } from "../client.ts";
import { misused, readAddress, readCommandLine, readNumber } from "../command-line.ts";
import { pages, readmeCalls, runChecks } from "./check.ts";
import { brokenStream, streamAcrossDeploy } from "./stream.ts";
import { NAME, Visit } from "./visit.ts";
import { webhook } from "./webhook.ts";

const USAGE = `AUSPEX_TOKEN=… npm run verify -- https://auspex.example.com [options]

AUSPEX_TOKEN is an operator's access token with the scope operator.

  --deploy                 run npm run deploy in the middle of a stream
  --webhook-url https://…  public end of a tunnel to this machine, to receive a webhook
  --webhook-port n         local port of the tunnel (default: 8788)`;

const { values, positionals } = readCommandLine(USAGE, {
  allowPositionals: true,
  options: {
    deploy: { type: "boolean", default: false },
    "webhook-url": { type: "string" },
    "webhook-port": { type: "string", default: "8788" },
  },
});

async function main([address]: string[], operatorToken: string | undefined): Promise<boolean> {
  if (!address) return misused(USAGE, "Missing address of the deployment.");
  if (!operatorToken) return misused(USAGE, "Set AUSPEX_TOKEN.");
  const url = readAddress(USAGE, address);
  const webhookPort = readNumber(USAGE, "webhook-port", values["webhook-port"], { most: 65_535 });
  const tunnel = values["webhook-url"]?.replace(/\/$/, "");
  const checks = [
    pages,
    readmeCalls,
    brokenStream,
    webhook({ url: tunnel, port: tunnel ? webhookPort : 0 }),
    streamAcrossDeploy(values.deploy ? () => deploy(url) : undefined),
  ];
  console.log(`Checking ${url} with a runner on this machine and the user ${NAME} …\n`);
  const visit = await Visit.begin(url, operatorToken);
  process.once("SIGINT", () => leave(visit).finally(() => process.exit(130)));
  const allWell = await runChecks(checks, visit, console.log);
  return (await leave(visit)) && allWell;
}

async function leave(visit: Visit): Promise<boolean> {
  try {
    await visit.end();
    console.log(`\nRemoved all test data, except the username ${NAME}.`);
    return true;
  } catch (error) {
    console.log(`\nSome test data could not be removed. The next run tries again. ${error}`);
    return false;
  }
}

async function deploy(url: string): Promise<void> {
  const script = join(ROOT, "src/dev/deploy/main.ts");
  const child = spawn(process.execPath, [script, "--url", url], { cwd: ROOT, stdio: "inherit" });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error("the deploy failed");
}

main(positionals, process.env.OPERATOR_TOKEN || process.env.AUSPEX_TOKEN).then(
  (allWell) => {
    process.exitCode = allWell ? 0 : 1;
  },
  (error: unknown) => {
    console.error(messageOf(error));
    process.exitCode = 1;
  },
);
