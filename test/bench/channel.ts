/** The runner's side of a prediction without a runner: a bare channel, which can send any frame. */
import { once } from "node:events";
import { WebSocket } from "ws";
import { ControlPlane } from "../../runner/src/control-plane/client.ts";
import { downFrame } from "../../src/protocol/channel.ts";
import { hardware } from "../../src/protocol/hardware.ts";
import { model, version } from "../../src/protocol/model.ts";
import { newToken } from "../../src/protocol/operator.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { RUNNER_PROTOCOL } from "../../src/protocol/runner.ts";
import { runnerSnapshot } from "../protocol/runner-snapshot.ts";
import { type Bed, USERNAME } from "./bed.ts";

/** A hardware class of its own, so the real runner gets none of its work. */
const HARDWARE = "channel";
const NEVER = new AbortController().signal;

export interface OpenPrediction {
  id: string;
  /** The welcome has come: frame 1 comes next. */
  socket: WebSocket;
}

/** Creates the model and the token. @returns a function that makes a prediction and opens its channel */
export async function prepareChannel({ deployment, operator, client }: Bed) {
  const body = { name: "None at all" };
  await operator.call(hardware, "PUT", `/operator/hardware/${HARDWARE}`, { body });
  const { token } = await operator.call(newToken, "POST", "/operator/runner_tokens", {
    body: { name: HARDWARE, hardware: [HARDWARE] },
  });
  const name = "channel";
  await client.call(model, "POST", "/models", { body: { name } });
  await client.call(version, "POST", `/models/${USERNAME}/${name}/versions`, {
    body: {
      release_notes: "",
      schemas: { prediction: { input: {}, output: {}, stream_output: true } },
      container_image_digest: `sha256:${"0".repeat(64)}`,
      configuration: { hardware_identifier: HARDWARE },
    },
  });
  const controlPlane = new ControlPlane({ url: deployment.url, token });
  const machine = { cpus: 1, memory_gb: 1, gpus: [] };
  const { runner_id, session, pool, settings } = await controlPlane.register(
    {
      protocol: RUNNER_PROTOCOL,
      version: "bench",
      machine,
      name,
      hardware: [HARDWARE],
      engine: "process",
      slots: 1,
    },
    NEVER,
  );
  const asks = { runner_id, session, pool, images: [] };
  let told = runnerSnapshot();

  return async (): Promise<OpenPrediction> => {
    const claim = { ...asks, snapshot: told };
    const claimed = controlPlane.claim(claim, settings.poll_seconds, NEVER);
    const body = { model: `${USERNAME}/${name}`, input: {} };
    const { id } = await client.call(predictionWithIO, "POST", "/predictions", { body });
    const [job] = (await claimed).jobs;
    if (job?.prediction_id !== id) throw new Error("the job that was claimed is another one");
    const { url, headers } = controlPlane.channel(job.lease);
    const socket = new WebSocket(url, { headers });
    const [welcome]: unknown[] = await once(socket, "message");
    const frame = downFrame.parse(JSON.parse(String(welcome)));
    const heard = frame.type === "welcome" && frame.receipt !== undefined ? [frame.receipt] : [];
    told = runnerSnapshot({ number: told.number + 1, handed: job.handout, heard });
    return { id, socket };
  };
}
