/**
 * Events per second to the subscribers of one prediction, next to bare objects that write the same bytes to
 * as many readers. The bench speaks the channel itself, because no model is that fast.
 */
import { once } from "node:events";
import { Agent, get } from "node:http";
import { WebSocket } from "ws";
import { ControlPlane } from "../../runner/src/control-plane/client.ts";
import { encodeEvent } from "../../src/lib/sse.ts";
import { downFrame } from "../../src/protocol/channel.ts";
import type { ReportedEvent } from "../../src/protocol/event.ts";
import { hardware } from "../../src/protocol/hardware.ts";
import { model, version } from "../../src/protocol/model.ts";
import { newToken } from "../../src/protocol/operator.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { RUNNER_PROTOCOL } from "../../src/protocol/runner.ts";
import { runnerSnapshot } from "../protocol/runner-snapshot.ts";
import { type Bed, bundleWorker, startBare, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { median } from "./statistics.ts";
import { perSecond, type Table, times, type Verdict } from "./table.ts";

/**
 * Sizes of a run by number of subscribers: about a second each. A frame has the events that a runner gathers
 * in its 30 ms at the rate that so many subscribers are served with: 4 events/ms to 100.
 */
const SIZES = {
  1: { frames: 100, events: 512 },
  100: { frames: 50, events: 128 },
  1000: { frames: 16, events: 32 },
};
type Size = (typeof SIZES)[keyof typeof SIZES];
/** The least ratios to an object that gets one frame at a time, and to one that gets many. */
const LEAST = 0.85;
const LEAST_OF_WINDOW = 0.7;
/** Bytes that a runner sends ahead of their acknowledgement; 0: a frame at a time. */
const WINDOW = 512 * 1024;

export async function measureFanout(bed: Bed, { rounds, timed }: Effort): Promise<Table> {
  const floor = await startBare(await bundleWorker("floor"));
  const openPrediction = await prepareChannel(bed);
  try {
    const rows: string[][] = [];
    const verdicts: Verdict[] = [];
    for (const subscribers of [1, 100, 1000] as const) {
      const size = SIZES[subscribers];
      const [ours, bare, windowed]: [number[], number[], number[]] = [[], [], []];
      for (let n = 0; n < rounds; n++) {
        const { id, socket } = await openPrediction();
        const stream = `${bed.deployment.url}/v1/predictions/${id}/stream`;
        const readers = Array.from({ length: subscribers }, () =>
          openReader(stream, bed.seed.token),
        );
        ours.push(await rate(socket, readers, framesOf(size), size, WINDOW));
        bare.push(await rateOfFloor(floor.url, subscribers, size, 0));
        windowed.push(await rateOfFloor(floor.url, subscribers, size, WINDOW));
      }
      const share = median(ours) / median(bare);
      const shareOfWindow = median(ours) / median(windowed);
      rows.push([
        String(subscribers),
        String(size.events),
        perSecond(median(ours)),
        perSecond(median(bare)),
        times(share),
        perSecond(median(windowed)),
        times(shareOfWindow),
      ]);
      const what = `events to ${subscribers}`;
      verdicts.push(
        { what, value: share, bound: { least: LEAST }, hard: timed },
        {
          what: `${what}, to a bare object with a window`,
          value: shareOfWindow,
          bound: { least: LEAST_OF_WINDOW },
        },
      );
    }
    return {
      title: "Events delivered to the subscribers of one prediction",
      head: ["subscribers", "events a frame", "Auspex", "bare object", "ratio", "window", "ratio"],
      rows,
      notes: [
        "bare object: hands the same bytes to as many readers, a frame at a time, and keeps nothing",
        "window: is sent frames as far ahead as ours, and stores those of 250 ms in one row",
      ],
      verdicts,
    };
  } finally {
    await floor.stop();
  }
}

async function rateOfFloor(
  url: string,
  subscribers: number,
  size: Size,
  window: number,
): Promise<number> {
  const id = await (await fetch(`${url}/v1/object`, { method: "POST" })).text();
  const socket = new WebSocket(
    `${url.replace("http", "ws")}/v1/channel/${id}${window > 0 ? "?stored" : ""}`,
  );
  await once(socket, "open");
  const readers = Array.from({ length: subscribers }, () => openReader(`${url}/v1/stream/${id}`));
  const texts = outputs(size).map((events, n) =>
    events.map(({ event, data }, k) => encodeEvent(n * size.events + k + 1, event, data)).join(""),
  );
  return rate(socket, readers, [...texts, "end"], size, window);
}

/** Returns events per second, from the first frame to the end of the last reader's stream. */
async function rate(
  socket: WebSocket,
  readers: Reader[],
  frames: string[],
  { frames: count, events }: Size,
  window: number,
) {
  await Promise.all(readers.map(({ begun }) => begun));
  const began = performance.now();
  await sendAll(socket, frames, window);
  await Promise.all(readers.map(({ ended }) => ended));
  const seconds = (performance.now() - began) / 1000;
  socket.close(1000);
  return (count * events * readers.length) / seconds;
}

function framesOf(size: Size): string[] {
  const frames = outputs(size).map((events, n) => ({ type: "events", seq: n + 1, events }));
  const finish = { status: "succeeded", output: "items" };
  const last = { type: "events", seq: size.frames + 1, events: [], finish };
  return [...frames, last].map((frame) => JSON.stringify(frame));
}

/** Returns the events of each frame. */
const outputs = ({ frames, events }: Size): ReportedEvent[][] =>
  Array.from({ length: frames }, (_, frame) =>
    Array.from({ length: events }, (_, n) => ({
      event: "output",
      data: ` token ${frame * events + n}`,
    })),
  );

/** The runner's side of a prediction without a runner: a bare channel, which can send any frame. */

/** A hardware class of its own, so the real runner gets none of its work. */
const HARDWARE = "channel";
const NEVER = new AbortController().signal;

interface OpenPrediction {
  id: string;
  /** The welcome has come: frame 1 comes next. */
  socket: WebSocket;
}

/** Creates the model and the token. @returns a function that makes a prediction and opens its channel */
async function prepareChannel({ deployment, operator, client }: Bed) {
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
    const receipts = frame.type === "welcome" && frame.receipt !== undefined ? [frame.receipt] : [];
    told = runnerSnapshot({ number: told.number + 1, handed: job.handout, receipts });
    return { id, socket };
  };
}

/** Many readers of one stream. They cost as little as possible, because the writer is measured. */

const agent = new Agent({ keepAlive: false });

interface Reader {
  /** Resolves with the reader's first byte: from now on it is read live. */
  begun: Promise<void>;
  /** Resolves at the end of the stream with the number of its bytes. */
  ended: Promise<number>;
}

function openReader(url: string, token?: string): Reader {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number>();
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = get(url, { agent, headers }, (response) => {
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      if (bytes === 0) begun.resolve();
      bytes += chunk.length;
    });
    response.on("end", () => ended.resolve(bytes));
    response.on("error", ended.reject);
  });
  request.on("error", begun.reject);
  return { begun: begun.promise, ended: ended.promise };
}

/**
 * Sends frames until the last one is acknowledged.
 * @param window bytes; 0: each frame waits for the acknowledgement of the last
 */
async function sendAll(socket: WebSocket, frames: string[], window: number): Promise<void> {
  let acknowledged = 0;
  let bytes = 0;
  let changed = Promise.withResolvers<void>();
  const hear = (message: Buffer) => {
    const frame = downFrame.parse(JSON.parse(message.toString()));
    if (frame.type === "fenced") changed.reject(new Error(`fenced: ${frame.reason}`));
    if (frame.type !== "ack") return;
    while (acknowledged < frame.seq) bytes -= frames[acknowledged++]?.length ?? 0;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  socket.on("message", hear);
  for (const frame of frames) {
    while (bytes > 0 && bytes + frame.length > window) await changed.promise;
    bytes += frame.length;
    socket.send(frame);
  }
  while (acknowledged < frames.length) await changed.promise;
  socket.off("message", hear);
}
