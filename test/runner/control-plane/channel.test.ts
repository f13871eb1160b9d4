import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { SocketConnection } from "../../../runner/src/control-plane/connection.ts";
import { CLOSE, WINDOW_BYTES } from "../../../src/protocol/channel.ts";
import { Channel } from "../../../src/run/channel.ts";
import { Reporter } from "../../../src/run/reporter.ts";
import { FakeControlPlane, type FakePrediction, REPORTS } from "../support/fake-control-plane.ts";
import { settings } from "../support/samples.ts";

const DONE = { status: "succeeded", output: "items" } as const;

let plane: FakeControlPlane;
let prediction: FakePrediction;
let channels: Channel[];

beforeEach(async () => {
  channels = [];
  plane = await FakeControlPlane.start();
  prediction = plane.prediction("l");
});

/** Ends all channels, because an open one would go on reconnecting with the timers of later tests. */
afterEach(async () => {
  vi.useRealTimers();
  for (const channel of channels) channel.release("the test is over");
  await Promise.all(channels.map(({ ended }) => ended));
  await plane.stop();
});

function open(changes: Partial<typeof settings> = {}, streams = false) {
  const [onCancel, onReceipt] = [vi.fn(), vi.fn()];
  const reporter: Reporter = new Reporter({
    limits: { output_bytes: 1_000_000, logs_bytes: 1_000_000 },
    onChange: () => channel.notify(),
    onBreach: () => {},
  });
  const controlPlane = new ControlPlane({ url: plane.url, token: "ausr_x" });
  const channel = new Channel({
    connect: (timing, handlers) =>
      new SocketConnection(controlPlane.channel("l"), timing, handlers),
    post: (frame) => controlPlane.finish("l", frame),
    settings: { ...settings, ...changes },
    outbox: reporter,
    onCancel,
    onReceipt,
  });
  channels.push(channel);
  channel.open(streams);
  return { channel, reporter, onCancel, onReceipt };
}

const outputs = () => prediction.events.map(({ data }) => data);

function endsAtOnce(reporter: Reporter): void {
  reporter.setup({ phase: "ready" });
  reporter.output("hello");
  reporter.finish(DONE);
}

test("a receipt arrives with the welcome, and with the answer to a report", async () => {
  const replies = [{ type: "ack", seq: 1, receipt: "r" }];
  plane.endpoints.set(REPORTS, () => ({ body: { replies } }));
  const short = open();
  endsAtOnce(short.reporter);
  await short.channel.ended;
  expect(short.onReceipt).toHaveBeenCalledExactlyOnceWith("r");

  prediction.onConnect = (socket) =>
    socket.send(JSON.stringify({ type: "welcome", seq: 0, flush_ms: 30, receipt: "s" }));
  const long = open({}, true);
  await vi.waitFor(() => expect(long.onReceipt).toHaveBeenCalledWith("s"));
  long.reporter.finish(DONE);
  await long.channel.ended;
});

test("a run that ends before a channel is worth opening is one request", async () => {
  const { channel, reporter } = open();
  endsAtOnce(reporter);
  expect(await channel.ended).toEqual({ kind: "finished", finish: DONE });
  expect(prediction.frames.map(({ seq, events }) => [seq, events.length])).toEqual([[1, 2]]);
  expect(prediction).toMatchObject({ reports: 1, connections: 0 });
});

test("a run that is sure to stream has its channel before its first output", async () => {
  const { channel, reporter } = open({}, true);
  await vi.waitFor(() => expect(prediction.connections).toBe(1));
  reporter.output("hello");
  reporter.finish(DONE);
  expect(await channel.ended).toMatchObject({ kind: "finished" });
  expect(prediction).toMatchObject({ reports: 0, connections: 1 });
});

test("a report that fails opens the channel, with the same frame", async () => {
  const { channel, reporter } = open();
  prediction.refuse = 503;
  endsAtOnce(reporter);
  await prediction.until(() => prediction.reports === 1);
  prediction.refuse = undefined;
  expect(await channel.ended).toEqual({ kind: "finished", finish: DONE });
  expect(prediction.frames.map(({ seq }) => seq)).toEqual([1]);
  expect(prediction.connections).toBe(1);
});

test("a report that comes too late is fenced", async () => {
  const { channel, reporter } = open();
  prediction.fenced = true;
  endsAtOnce(reporter);
  expect(await channel.ended).toEqual({ kind: "fenced", reason: "too late" });
});

test("a run that ends before the welcome is one frame, and the socket closes with 1000", async () => {
  const { channel, reporter } = open();
  reporter.setup({ phase: "ready" });
  reporter.output("hello");
  // The output does not end the run at once, so a channel is opened.
  await turn();
  reporter.finish(DONE);
  expect(await channel.ended).toEqual({ kind: "finished", finish: DONE });
  expect(prediction.frames.map(({ events, finish }) => [events.length, finish])).toEqual([
    [2, DONE],
  ]);
  await prediction.until(() => plane.openSockets === 0);
});

test("a run without output is marked started by an empty frame within 30 ms", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  prediction.onConnect = (socket) =>
    socket.send(JSON.stringify({ type: "welcome", seq: 0, flush_ms: 30, receipt: "r" }));
  const { onReceipt } = open();
  // The channel is opened once the run is no longer short.
  vi.advanceTimersByTime(100);
  while (onReceipt.mock.calls.length === 0) await turn();
  expect(prediction.frames).toEqual([]);
  vi.advanceTimersByTime(30);
  await prediction.until(() => prediction.frames.length === 1);
  expect(prediction.frames[0]?.events).toEqual([]);
});

test("the first output is sent at once, then one frame per flush, and the end at once", async () => {
  prediction.flushMs = 100;
  const { channel, reporter } = open();
  await prediction.until(() => prediction.connections === 1);
  reporter.output(0);
  await prediction.until(() => prediction.frames.length === 1);
  for (let i = 1; i <= 3; i++) {
    reporter.output(i);
    await turn();
  }
  await prediction.until(() => prediction.frames.length === 2);
  // Output 1 had also waited for the others.
  expect(prediction.frames[1]?.events.map(({ data }) => data)).toEqual([1, 2, 3]);
  reporter.output(4);
  reporter.finish(DONE);
  await channel.ended;
  expect(outputs()).toEqual([0, 1, 2, 3, 4]);
  expect(prediction.frames.length).toBe(3);
});

test("frames go on while none is acknowledged, and one ack is enough for all", async () => {
  prediction.flushMs = 0;
  prediction.onFrame = () => "mute";
  const { channel, reporter } = open({}, true);
  await prediction.until(() => prediction.connections === 1);
  for (let i = 1; i <= 20; i++) {
    reporter.output(i);
    await prediction.until(() => prediction.frames.length >= i);
  }
  reporter.finish(DONE);
  await prediction.until(() => prediction.finish !== undefined);
  prediction.tell({ type: "ack", seq: prediction.frames.length });
  expect(await channel.ended).toMatchObject({ kind: "finished" });
  expect(prediction.received).toEqual(prediction.frames.map(({ seq }) => seq));
});

test("at most 512 KiB are unacknowledged", async () => {
  prediction.flushMs = 0;
  prediction.onFrame = () => "mute";
  const { channel, reporter } = open({}, true);
  await prediction.until(() => prediction.connections === 1);
  const value = "x".repeat(100_000);
  for (let i = 0; i < 9; i++) {
    reporter.output(value);
    await turn();
  }
  reporter.finish(DONE);
  const bytes = () => outputs().length * value.length;
  await prediction.until(() => bytes() >= 300_000);
  prediction.tell({ type: "cancel", reason: "a round trip" });
  await turn();
  expect(bytes()).toBeLessThan(WINDOW_BYTES);
  expect(prediction.finish).toBeUndefined();
  prediction.onFrame = () => "keep";
  prediction.tell({ type: "ack", seq: prediction.frames.length });
  expect(await channel.ended).toMatchObject({ kind: "finished" });
  expect(outputs().length).toBe(9);
});

test("a break with many unacknowledged frames resends them in order, above the number of the welcome", async () => {
  prediction.flushMs = 0;
  prediction.onFrame = ({ seq }) => (seq > 3 ? "drop" : "mute");
  const { channel, reporter } = open({}, true);
  await prediction.until(() => prediction.connections === 1);
  for (let i = 1; i <= 6; i++) {
    reporter.output(i);
    await prediction.until(() => prediction.received.length >= i);
  }
  prediction.onFrame = () => "keep";
  // Frame 5 followed the lost frame 4: the prediction has closed the channel.
  reporter.finish(DONE);
  expect(await channel.ended).toMatchObject({ kind: "finished" });
  expect(outputs()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(prediction.frames.map(({ seq }) => seq)).toEqual(prediction.frames.map((_, n) => n + 1));
});

test("a new reader is noticed within a frame, and gathered output is sent", async () => {
  prediction.flushMs = 60_000;
  const { channel, reporter } = open({}, true);
  await prediction.until(() => prediction.connections === 1);
  reporter.output(0);
  await prediction.until(() => prediction.frames.length === 1);
  reporter.output(1);
  await turn();
  expect(prediction.frames.length).toBe(1);
  prediction.tell({ type: "flush", flush_ms: 0 });
  await prediction.until(() => prediction.frames.length === 2);
  // The last reader has left.
  prediction.tell({ type: "ack", seq: 2, flush_ms: 60_000 });
  prediction.tell({ type: "cancel", reason: "a round trip" });
  await turn();
  reporter.output(2);
  reporter.finish(DONE);
  await channel.ended;
  expect(outputs()).toEqual([0, 1, 2]);
});

test("a break resends lost frames, and not those that had arrived", async () => {
  prediction.flushMs = 1;
  const { channel, reporter } = open();
  let frames = 0;
  prediction.onFrame = (_frame, socket) => {
    frames++;
    // The second frame is lost on its way, and the ack of the fourth on its way back.
    if (frames === 2 || frames === 4) socket.terminate();
    return frames === 2 ? "drop" : "keep";
  };
  for (let i = 0; i < 8; i++) {
    reporter.output(i);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  reporter.finish(DONE);
  expect(await channel.ended).toMatchObject({ kind: "finished" });
  expect(outputs()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(prediction.connections).toBe(3);
});

test("a stream over a line that keeps breaking is complete and in order", async () => {
  // `Math.random` makes retries immediate: a delay is a random part of its bound.
  vi.spyOn(Math, "random").mockReturnValue(-0.99);
  prediction.flushMs = 0;
  const { channel, reporter } = open();
  prediction.onFrame = ({ seq }, socket) => {
    const turn = (seq * 7 + prediction.connections * 5) % 4;
    if (turn < 2) socket.terminate();
    return turn === 0 ? "drop" : "keep";
  };
  const sent = Array.from({ length: 400 }, (_, index) => index);
  for (const value of sent) {
    reporter.output(value);
    // The loop sends at least twenty frames, whatever else the machine does.
    if (value % 20 === 19) await prediction.until(() => outputs().length > value);
  }
  reporter.finish(DONE);
  expect(await channel.ended).toMatchObject({ kind: "finished" });
  expect(outputs()).toEqual(sent);
  expect(prediction.connections).toBeGreaterThan(5);
  vi.restoreAllMocks();
});

test("a lost ack of the finish is replaced by the welcome", async () => {
  const { channel, reporter } = open();
  prediction.onFrame = (_frame, socket) => {
    socket.terminate();
    return "mute";
  };
  reporter.output("hello");
  await turn();
  reporter.finish(DONE);
  expect(await channel.ended).toMatchObject({ kind: "finished" });
  expect([prediction.received, prediction.connections]).toEqual([[1], 2]);
});

test("a cancel is passed on, and the finish still arrives", async () => {
  const { channel, reporter, onCancel } = open();
  onCancel.mockImplementation(() => reporter.finish({ status: "canceled", output: "none" }));
  prediction.onConnect = () => prediction.tell({ type: "cancel", reason: "asked for" });
  expect(await channel.ended).toMatchObject({ kind: "finished", finish: { status: "canceled" } });
  expect(onCancel).toHaveBeenCalledExactlyOnceWith("asked for");
});

test.each([
  ["a fenced frame", () => prediction.tell({ type: "fenced", reason: "late" }), "late"],
  ["close code 4409", () => prediction.socket?.close(CLOSE.fenced, "late"), "late"],
])("the channel ends at %s", async (_name, act, reason) => {
  prediction.onConnect = act;
  expect(await open().channel.ended).toEqual({ kind: "fenced", reason });
  expect(prediction.connections).toBe(1);
});

test.each([409, 410, 404, 401])("HTTP %i at the server ends the channel", async (status) => {
  prediction.refuse = status;
  expect(await open().channel.ended).toEqual({ kind: "fenced", reason: `HTTP ${status}` });
});

test("a channel tries again after HTTP 503 at the server, a broken connection and a takeover", async () => {
  prediction.refuse = 503;
  const { channel, reporter } = open();
  setTimeout(() => {
    prediction.refuse = undefined;
  }, 20);
  prediction.onConnect = (socket) => {
    if (prediction.connections === 1) socket.close(CLOSE.replaced);
  };
  await prediction.until(() => prediction.connections === 2);
  reporter.finish(DONE);
  expect(await channel.ended).toMatchObject({ kind: "finished" });
});

test("a frame that breaks every connection is given up", async () => {
  vi.spyOn(Math, "random").mockReturnValue(-0.99);
  const { channel, reporter } = open();
  prediction.onFrame = (_frame, socket) => {
    socket.close(CLOSE.badFrame, "what is this");
    return "drop";
  };
  reporter.output("hello");
  expect(await channel.ended).toMatchObject({ kind: "lost" });
  expect(prediction.received.length).toBe(10);
  vi.restoreAllMocks();
});

test("a connection without pongs is replaced by another one", async () => {
  const { channel, reporter } = open({ ping_seconds: 0.02, lease_seconds: 10 });
  prediction.answersPings = false;
  await prediction.until(() => prediction.connections === 2);
  expect(prediction.pings).toBeGreaterThan(0);
  prediction.answersPings = true;
  reporter.finish(DONE);
  expect(await channel.ended).toMatchObject({ kind: "finished" });
});

test("without contact for twice the lease the attempt is lost", async () => {
  const { channel } = open({ lease_seconds: 0.05 });
  await prediction.until(() => prediction.connections === 1);
  prediction.refuse = 503;
  prediction.socket?.terminate();
  expect(await channel.ended).toMatchObject({ kind: "lost" });
});

test("an attempt whose prediction has other frames than were sent is lost", async () => {
  prediction.frames.push({ type: "events", seq: 1, events: [] });
  expect(await open().channel.ended).toMatchObject({ kind: "lost" });
});

test("a release hands the job back without a frame of events", async () => {
  const { channel, reporter } = open();
  channel.release("shutting down");
  reporter.setup({ phase: "starting" });
  expect(await channel.ended).toEqual({ kind: "released" });
  await prediction.until(() => plane.openSockets === 0 && prediction.releases.length === 1);
  expect(prediction.releases).toEqual([{ type: "release", reason: "shutting down" }]);
  expect(prediction.frames).toEqual([]);
});

test("a frame that cannot be made fails its job, and nothing else", async () => {
  const { channel, reporter } = open();
  reporter.output("hello");
  const detail = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  const error = { source: "internal", message: "deep" } as const;
  reporter.finish({ status: "failed", output: "items", error: { ...error, detail } });
  const told = { source: "internal", message: "The runner could not report the run." };
  const finish = { status: "failed", output: "none", error: told };
  expect(await channel.ended).toEqual({ kind: "finished", finish });
  expect(prediction.frames).toEqual([{ type: "events", seq: 1, events: [], finish }]);
});
