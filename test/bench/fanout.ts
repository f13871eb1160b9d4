/**
 * Events per second to the subscribers of one prediction, next to bare objects that write the same bytes to
 * as many readers. The bench speaks the channel itself, because no model is that fast.
 */
import { once } from "node:events";
import { WebSocket } from "ws";
import { encodeEvent } from "../../src/lib/sse.ts";
import type { ReportedEvent } from "../../src/protocol/event.ts";
import { type Bed, bundleWorker, startBare } from "./bed.ts";
import { prepareChannel } from "./channel.ts";
import type { Effort } from "./effort.ts";
import { openReader, type Reader } from "./readers.ts";
import { sendAll } from "./send-all.ts";
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
  const id = await (await fetch(`${url}/object`, { method: "POST" })).text();
  const socket = new WebSocket(
    `${url.replace("http", "ws")}/channel/${id}${window > 0 ? "?stored" : ""}`,
  );
  await once(socket, "open");
  const readers = Array.from({ length: subscribers }, () => openReader(`${url}/stream/${id}`));
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
