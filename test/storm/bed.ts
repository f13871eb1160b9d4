/** The bed of a storm: a deployment whose state is in a folder, runners, and the cables between them. */

import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "../../src/dev/bundle.ts";
import { Client } from "../../src/dev/client.ts";
import { type Deployment, readConfiguration, startDeployment } from "../../src/dev/deployment.ts";
import { type Relay, startRelay } from "../../src/dev/relay.ts";
import { publishModel, seed } from "../../src/dev/seed.ts";
import { hardware } from "../../src/protocol/hardware.ts";
import { newToken } from "../../src/protocol/operator.ts";
import type { Registry } from "../docker/registry.ts";
import { LOCAL, OPERATOR_TOKEN, USERNAME } from "../journey/support/access.ts";
import { SAMPLE } from "../journey/support/duotone.ts";
import { prepareState } from "../journey/support/prepared-state.ts";
import { Cable } from "../processes/cable.ts";
import { Receiver } from "../receiver/receiver.ts";
import { listAllModels } from "../support/models.ts";
import type { Ground } from "./callers/ground.ts";
import { type Caller, eachCaller, OWNERS, ownerOf, type Payer, PRIVATE } from "./plan/teams.ts";
import type { Recorder } from "./recorder.ts";
import { makeTeams } from "./teams.ts";
import { StormRunner } from "./weather/storm-runner.ts";
import type { Breakable } from "./weather/weather.ts";

const SLOTS = 8;

/** Times shorter than the deployed ones, which take longer than a storm. */
const VARIABLES = {
  RATE_LIMITS: "off",
  LOG_SAMPLE_RATE: "0",
  WEBHOOK_ALLOW_INSECURE: "true",
  LEASE_SECONDS: "6",
  CONNECT_SECONDS: "2",
  CANCEL_SECONDS: "8",
  TELEMETRY_SECONDS: "2",
  /** The local queue is in memory: an offer that waits there is lost with each kill. */
  REDISPATCH_SECONDS: "2",
  WEBHOOK_TIMEOUT_SECONDS: "2",
  WEBHOOK_RETRY_SECONDS: "0.2",
};

export interface Bed extends Breakable {
  deployment: Deployment;
  stateFolder: string;
  operator: Client;
  receiver: Receiver;
  /** For each account a client that sees all of it. */
  clients: Record<Payer, Client>;
  callers: Record<Caller, Client>;
  ground(recorder: Recorder, over: AbortSignal): Ground;
  /** Stops the deployment and starts it again at the same address. */
  restart(meanwhile: () => void): Promise<void>;
  /** Stops the deployment for good. */
  stop(): Promise<void>;
  /** Ends the deployment, the runners and the cables. */
  close(): Promise<void>;
}

/** @param registry of images, if Docker takes part: adds one runner, for containers */
export async function makeBed(folder: string, count: number, registry?: Registry): Promise<Bed> {
  const [script, configuration] = await Promise.all([
    bundle(join(folder, "bundle")),
    readConfiguration(),
  ]);
  const { state, models, user } = await prepareState(folder, { script, configuration });
  const variables = { ...VARIABLES, ...(registry && { IMAGE_REGISTRY: registry.host }) };
  const options = { ...LOCAL, script, configuration, stateFolder: state, variables };
  const deployment = await startDeployment(options);
  const operator = new Client(deployment.url, OPERATOR_TOKEN);
  const tokens = await makeTeams(deployment.url, operator, user.token, models);
  const receiver = await Receiver.open();
  // The relay works as in a deployment: a client that leaves is noticed at once.
  const relay: Relay = await startRelay(deployment.url, 0);
  const openCable = () => Cable.open(relay.url);
  const [callersCable, receiverCable, ...cables] = await Promise.all([
    openCable(),
    Cable.open(receiver.url),
    ...Array.from({ length: count }, openCable),
  ]);
  const runners = cables.map(({ url }, n) => {
    const stateFolder = join(folder, "runners", `${n}`);
    const own = join(stateFolder, "models");
    mkdirSync(stateFolder, { recursive: true });
    cpSync(models, own, { recursive: true });
    return new StormRunner({
      url,
      token: user.runnerToken,
      name: `runner-${n}`,
      hardware: "cpu",
      slots: SLOTS,
      stateFolder,
      models: { owners: [USERNAME, ...Object.keys(PRIVATE)], folder: own },
    });
  });
  if (registry) {
    const cable = await openCable();
    cables.push(cable);
    const stateFolder = join(folder, "runners", "boxes");
    const at = { url: deployment.url, cable: cable.url, stateFolder, slots: SLOTS };
    runners.push(await startBoxes(registry, operator, at));
  }
  const clientsAt = (url: string) => eachCaller((by) => new Client(url, tokens[by]));
  const callers = clientsAt(deployment.url);
  const ways = { direct: clientsAt(relay.url), cable: clientsAt(callersCable.url) };
  let isStopped = false;
  async function stop(): Promise<void> {
    if (isStopped) return;
    isStopped = true;
    await bed.deployment.stop();
  }
  const bed: Bed = {
    deployment,
    stateFolder: state,
    operator,
    receiver,
    clients: {
      ada: callers.ada,
      bob: callers.bob,
      acme: callers[OWNERS.acme],
      zeta: callers[OWNERS.zeta],
    },
    callers,
    runners,
    cables,
    callersCable,
    receiverCable,
    ground: (recorder, over) => ({
      recorder,
      over,
      modelOf({ boxed, account }, name) {
        const owner = ownerOf(account, name);
        const isBoxed = registry && boxed && owner === USERNAME && BOXED.includes(name);
        return `${isBoxed ? BOX_OWNER : owner}/${name}`;
      },
      sample: SAMPLE,
      receiverUrl: receiverCable.url,
      scriptReceiver: (path, { webhook }) =>
        receiver.script(path, [...(webhook?.faults ?? []), { status: 200 }]),
      clientOf: ({ by, overCable }) => ways[overCable ? "cable" : "direct"][by],
    }),
    stop,
    async restart(meanwhile) {
      const port = Number(new URL(deployment.url).port);
      await bed.deployment.stop();
      meanwhile();
      bed.deployment = await startDeployment({ ...options, port });
    },
    async close() {
      await Promise.all(runners.map((runner) => runner.finish()));
      for (const cable of [...cables, callersCable, receiverCable]) cable.close();
      relay.close();
      await Promise.all([receiver.close(), stop()]);
    },
  };
  return bed;
}

const BOX_OWNER = "dora";
/** Models of the plan whose examples are images. */
const BOXED = ["hello", "sums", "text-generation", "duotone"];
const HARDWARE = "box";

/** The folder of each image's volume, with a file in it that has the runner's name. */
const VOLUME = "/scratch";

/** Publishes the images, and starts a runner for them behind a cable. */
async function startBoxes(
  registry: Registry,
  operator: Client,
  {
    url,
    cable,
    stateFolder,
    slots,
  }: { url: string; cable: string; stateFolder: string; slots: number },
): Promise<StormRunner> {
  // Names of containers are shared by all runners of the machine.
  const name = `boxes-${randomBytes(4).toString("hex")}`;
  const volume = `RUN mkdir ${VOLUME} && touch ${VOLUME}/${name}\nVOLUME ${VOLUME}\n`;
  const body = { name: "Boxes" };
  await operator.call(hardware, "PUT", `/operator/hardware/${HARDWARE}`, { body });
  const { token } = await seed(operator, BOX_OWNER);
  const owner = new Client(url, token);
  for (const folder of await listAllModels()) {
    const example = folder.manifest.name;
    if (!BOXED.includes(example)) continue;
    const { digest } = await registry.push(example, BOX_OWNER, volume);
    await publishModel(owner, BOX_OWNER, { ...folder, digest }, HARDWARE);
  }
  const { token: runnerToken } = await operator.call(newToken, "POST", "/operator/runner_tokens", {
    body: { name: "boxes", hardware: [HARDWARE] },
  });
  mkdirSync(stateFolder, { recursive: true });
  return new StormRunner({
    url: cable,
    token: runnerToken,
    name,
    hardware: HARDWARE,
    slots,
    stateFolder,
  });
}
