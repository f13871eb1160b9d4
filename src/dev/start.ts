/**
 * `npm start`: all of Auspex on this machine. The control plane in workerd, a user, a runner with
 * the process engine, the example models; then a prediction that streams into the terminal, and
 * one that makes a picture.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "./bundle.ts";
import { Client } from "./client.ts";
import { assertFree, type Deployment, PortTaken, startDeployment } from "./deployment.ts";
import { copyExamples } from "./examples.ts";
import { makePicture } from "./picture.ts";
import { type Relay, startRelay } from "./relay.ts";
import { type RunnerProcess, startRunner } from "./runner.ts";
import { publishModels, type Seed, seed } from "./seed.ts";
import { EMAIL, signUp } from "./sign-in.ts";
import { readSecrets, STATE_FOLDER, writeSecrets } from "./state.ts";
import { farewell, say, showPicture, showStream, showUsage } from "./terminal.ts";

const USERNAME = "demo";
/** As many as one container of the language models takes at a time. */
const SLOTS = 32;
const CONTAINERS = 8;
/** The complete examples: below the root, so that duotone finds its dependencies. */
const MODELS = join(STATE_FOLDER, "models");
const SAMPLE = join(MODELS, "duotone/sample.jpg");
/** Cron, as in wrangler.toml: nobody else calls it here. */
const SCHEDULE_MS = 60_000;
const PARENT_CHECK_MS = 500;
/** What runs is a demonstration: nobody waits long for it at the end. */
const RUNNER_STOP_MS = 3_000;

const { values } = parseArgs({
  options: { port: { type: "string", default: process.env.PORT ?? "8787" } },
});

const port = Number(values.port);

let deployment: Deployment | undefined;
let relay: Relay | undefined;
let runner: RunnerProcess | undefined;
let stopping: Promise<never> | undefined;

/** Both at once: a Ctrl-C has reached workerd too, and Miniflare would start it again. */
async function stop(code: number): Promise<never> {
  await Promise.all([deployment?.stop(), runner?.stop(RUNNER_STOP_MS)]);
  relay?.close();
  process.exit(code);
}

/** Ours alone: Miniflare's own handler would end the process at once, with the runner still at work. */
function handleSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => {
      if (stopping) return;
      farewell();
      stopping = stop(0);
    });
  }
}

/** A signal to npm ends the shell between it and us, and does not get here: its end is noticed. */
function endWithNpm(): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  setInterval(() => {
    if (process.ppid !== shell) process.kill(process.pid, "SIGTERM");
  }, PARENT_CHECK_MS).unref();
}

/** The user and the tokens of the last start, when the state still knows them. */
async function seeded(url: string, operator: Client, last: Seed | undefined): Promise<Seed> {
  if (last && (await new Client(url, last.token).fetch("GET", "/predictions")).ok) return last;
  return seed(operator, USERNAME);
}

async function main(): Promise<void> {
  handleSignals();
  endWithNpm();
  await assertFree(port);
  say("Building the Worker …");
  const secrets = await readSecrets();
  const script = await bundle(join(STATE_FOLDER, "bundle"));
  deployment = await startDeployment({
    script,
    port: 0,
    stateFolder: join(STATE_FOLDER, "state"),
    operatorToken: secrets.operatorToken,
    secretKey: secrets.secretKey,
    variables: { WEBHOOK_ALLOW_INSECURE: "true", RATE_LIMITS: "off" },
  });
  handleSignals();
  relay = await startRelay(deployment.url, port);
  const { url } = relay;
  say(`The control plane runs at ${url}`);
  // One that fails, as while workerd restarts, is made up for by the next.
  setInterval(() => deployment?.scheduled().catch(() => {}), SCHEDULE_MS).unref();
  const user = await seeded(url, new Client(url, secrets.operatorToken), secrets.seed);
  if (user !== secrets.seed || !secrets.signedUp) await signUp(url, USERNAME, secrets);
  await writeSecrets({ ...secrets, seed: user, signedUp: true });
  await rm(MODELS, { recursive: true, force: true });
  await copyExamples(MODELS);
  runner = startRunner({
    url,
    token: user.runnerToken,
    name: "quickstart",
    hardware: "cpu",
    slots: SLOTS,
    models: { owner: USERNAME, folder: MODELS },
    stateFolder: join(STATE_FOLDER, "runner"),
    environment: { AUSPEX_CONTAINERS: String(CONTAINERS) },
    // That models are not isolated here is said at the end, and not into the first story.
    onLine: (line) =>
      /warn|error/i.test(line) && !line.includes("isolates nothing") && say(`runner: ${line}`),
  });
  runner.process.once("exit", (code) => {
    if (stopping) return;
    say(`The runner has ended (${code}). Start again with: npm start`);
    stopping = stop(1);
  });
  const client = new Client(url, user.token);
  await publishModels(client, USERNAME, MODELS);
  await showStream(client, `${USERNAME}/story`);
  const picture = await makePicture(client, `${USERNAME}/duotone`, SAMPLE);
  showPicture(picture, `${USERNAME}/duotone`);
  const login = { email: EMAIL, password: secrets.password };
  showUsage({ url, token: user.token, username: USERNAME, login, picture });
}

main().catch(async (error: unknown) => {
  if (stopping) return;
  say(
    error instanceof PortTaken
      ? `${error.message} Choose another: npm start -- --port ${port + 1}`
      : String(error),
  );
  await stop(1);
});
