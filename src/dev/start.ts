/**
 * `npm start`: all of Auspex on this machine. Starts the control plane in workerd, a user, a runner
 * with the process engine and the example models, then streams a prediction into the terminal.
 * With --docker a second runner, for images; with --empty the control plane only.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULT_HARDWARE } from "../protocol/hardware.ts";
import { bundle } from "./bundle.ts";
import { Client, messageOf } from "./client.ts";
import { misused, readCommandLine, readNumber } from "./command-line.ts";
import { assertFree, type Deployment, PortTaken, startDeployment } from "./deployment.ts";
import { copyExamples } from "./examples.ts";
import { type Relay, startRelay } from "./relay.ts";
import {
  EXAMPLES_CLASS,
  type RunnerProcess,
  requireDocker,
  seedExamples,
  startDockerRunner,
  startRunner,
} from "./runner.ts";
import {
  EMAIL,
  keptRunnerToken,
  ORGANIZATION,
  pinExamples,
  publishModels,
  type Seed,
  seeded,
  seedOrganization,
  signUp,
} from "./seed.ts";
import {
  claimState,
  EMPTY_FOLDER,
  endLastWorkerd,
  noteWorkerd,
  readSecrets,
  type Secrets,
  STATE_FOLDER,
  writeSecrets,
} from "./state.ts";
import { farewell, say, showEmpty, showStream, showUsage } from "./terminal.ts";

const USERNAME = "demo";
/** The concurrency of one container of the language models. */
const SLOTS = 32;
const CONTAINERS = 8;
const MODELS = join(STATE_FOLDER, "models");
/** The cron trigger of wrangler.toml, which does not run locally. */
const SCHEDULE_MS = 60_000;
const PARENT_CHECK_MS = 500;
/** The stop of a runner is short, because this is a demonstration. */
const RUNNER_STOP_MS = 3_000;

const USAGE = `npm start -- [--port 8787] [--docker] [--empty]

  --port n   port to listen on (default: PORT, or 8787)
  --docker   also start a runner that runs pushed images in Docker
  --empty    start without users, models or runners, to restore a backup; deletes its data first

Set BACKUP_KEY to make backups.`;

const { values } = readCommandLine(USAGE, {
  options: {
    port: { type: "string", default: process.env.PORT ?? "8787" },
    docker: { type: "boolean", default: false },
    empty: { type: "boolean", default: false },
  },
});

if (values.docker && values.empty) misused(USAGE, "--empty can't be used with --docker.");
const port = readNumber(USAGE, "port", values.port, { most: 65_535 });

let deployment: Deployment | undefined;
let relay: Relay | undefined;
const runners: RunnerProcess[] = [];
let stopping: Promise<never> | undefined;

/** Stops the deployment and the runners at once: Ctrl-C has reached workerd too, and Miniflare would
 * restart it. */
async function stop(code: number): Promise<never> {
  await Promise.all([deployment?.stop(), ...runners.map((runner) => runner.stop(RUNNER_STOP_MS))]);
  relay?.close();
  process.exit(code);
}

/** Replaces Miniflare's handlers, which would end the process at once with the runner still working. */
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

/** A signal to npm ends the shell in between and does not arrive here, so watch for that shell's end. */
function endWithNpm(): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  setInterval(() => {
    if (process.ppid !== shell) process.kill(process.pid, "SIGTERM");
  }, PARENT_CHECK_MS).unref();
}

/** Makes this Node process and its workerd the only ones that use the folder. @throws StateTaken */
async function takeState(folder: string): Promise<void> {
  claimState(folder);
  await endLastWorkerd(folder);
  noteWorkerd(folder);
}

/** @returns the address of the deployment */
async function startControlPlane(folder: string, secrets: Secrets): Promise<string> {
  const { BACKUP_KEY = "", SECRET_KEY } = process.env;
  say("Building the Worker …");
  const script = await bundle(join(STATE_FOLDER, "bundle"));
  deployment = await startDeployment({
    script,
    port: 0,
    stateFolder: join(folder, "state"),
    operatorToken: secrets.operatorToken,
    secretKey: values.empty && SECRET_KEY ? SECRET_KEY : secrets.secretKey,
    variables: {
      WEBHOOK_ALLOW_INSECURE: "true",
      RATE_LIMITS: "off",
      LOG_SAMPLE_RATE: "0",
      BACKUP_KEY,
    },
  });
  handleSignals();
  relay = await startRelay(deployment.url, port);
  say(`The control plane runs at ${relay.url}`);
  // The next run makes up for a failed one, as while workerd restarts.
  setInterval(() => deployment?.scheduled().catch(() => {}), SCHEDULE_MS).unref();
  return relay.url;
}

async function startEmpty(): Promise<void> {
  await takeState(EMPTY_FOLDER);
  await rm(join(EMPTY_FOLDER, "state"), { recursive: true, force: true });
  const secrets = await readSecrets();
  const url = await startControlPlane(EMPTY_FOLDER, secrets);
  showEmpty({ url, operatorToken: secrets.operatorToken });
}

/** About isolation: it would interrupt the first story, and the farewell and the guide have it. */
const KNOWN = /provides no isolation|root in a container is root/;

/** Shows a runner's warnings, and stops everything when a runner ends. */
const watched = (name: string) => (line: string) =>
  /warn|error/i.test(line) && !KNOWN.test(line) && say(`${name}: ${line}`);

function keep(runner: RunnerProcess): void {
  runners.push(runner);
  runner.process.once("exit", (code, signal) => {
    if (stopping) return;
    say(`The runner exited (${signal ?? code}). Start again with: npm start`);
    stopping = stop(1);
  });
}

/**
 * Returns where the example models run.
 * @param last the token that they had beside a runner with Docker
 */
async function examplesRunner(
  url: string,
  operator: Client,
  { runnerToken }: Seed,
  last: string | undefined,
) {
  if (!values.docker) return { token: runnerToken, hardware: DEFAULT_HARDWARE };
  const kept = await keptRunnerToken(url, last, EXAMPLES_CLASS);
  return { token: kept ?? (await seedExamples(operator)), hardware: EXAMPLES_CLASS };
}

async function main(): Promise<void> {
  handleSignals();
  endWithNpm();
  await assertFree(port);
  if (values.empty) return startEmpty();
  if (values.docker) await requireDocker();
  await takeState(STATE_FOLDER);
  const secrets = await readSecrets();
  const url = await startControlPlane(STATE_FOLDER, secrets);
  const operator = new Client(url, secrets.operatorToken);
  const user = await seeded(operator, url, USERNAME, secrets.seed);
  if (user !== secrets.seed || !secrets.signedUp) await signUp(url, USERNAME, secrets);
  const examples = await examplesRunner(url, operator, user, secrets.examplesToken);
  const examplesToken = values.docker ? examples.token : secrets.examplesToken;
  await writeSecrets({ ...secrets, seed: user, signedUp: true, examplesToken });
  if (values.docker) keep(startDockerRunner(url, user.runnerToken, watched("docker runner")));
  await rm(MODELS, { recursive: true, force: true });
  await copyExamples(MODELS);
  keep(
    startRunner({
      url,
      ...examples,
      name: "quickstart",
      slots: SLOTS,
      models: { owners: [USERNAME, ORGANIZATION], folder: MODELS },
      stateFolder: join(STATE_FOLDER, "runner"),
      environment: { AUSPEX_CONTAINERS: String(CONTAINERS) },
      onLine: watched("runner"),
    }),
  );
  const client = new Client(url, user.token);
  await publishModels(client, USERNAME, MODELS, examples.hardware);
  await showStream(client, `${USERNAME}/text-generation`);
  const login = { email: EMAIL, password: secrets.password };
  const { docker } = values;
  showUsage({ url, token: user.token, username: USERNAME, login, docker });
  // The deployment can be used meanwhile.
  await pinExamples(client, USERNAME).catch((error: unknown) => {
    if (!stopping) say(`Some examples could not be pinned: ${messageOf(error)}`);
  });
  await seedOrganization({ url, operator, owner: user }, MODELS, examples.hardware).catch(
    (error: unknown) => {
      if (!stopping) say(`The example organization is not complete: ${messageOf(error)}`);
    },
  );
}

main().catch(async (error: unknown) => {
  if (stopping) return;
  say(
    error instanceof PortTaken
      ? `${error.message} Choose another: npm start -- --port ${port + 1}`
      : messageOf(error),
  );
  await stop(1);
});
