/** Reports of short runs that share a request. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HOLD_MS, MAX_UNDER_WAY, Reports } from "../../../runner/src/control-plane/client.ts";
import { MAX_REPORTS, type ReportReply, reportsRequest } from "../../../src/protocol/channel.ts";

interface Request {
  leases: string[];
  answer: (replies: ReportReply[]) => void;
  fail: (error: Error) => void;
}

let requests: Request[];
let reports: Reports;

beforeEach(() => {
  vi.useFakeTimers();
  requests = [];
  reports = new Reports((body) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReportReply[]>();
    const leases = reportsRequest.parse(JSON.parse(body)).reports.map(({ lease }) => lease);
    requests.push({ leases, answer: resolve, fail: reject });
    return promise;
  });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const FRAME = { type: "events", seq: 1, events: [] };
const send = (lease: string, frame: object = FRAME) =>
  reports.send({ lease, frame: JSON.stringify(frame) });
const sent = () => requests.map(({ leases }) => leases);
const ack = (seq: number): ReportReply => ({ type: "ack", seq });

/** Starts so many requests that each further report waits. @returns their names */
function busy(): string[] {
  const names = Array.from({ length: MAX_UNDER_WAY }, (_, n) => `busy ${n}`);
  for (const name of names) void send(name);
  return names;
}

test("a report is sent at once while few are under way", async () => {
  const names = busy();
  expect(sent()).toEqual(names.map((name) => [name]));
});

test("further reports go together as soon as one is answered, and each has its own reply", async () => {
  const names = busy();
  const replies = [send("a"), send("b"), send("c")];
  expect(requests).toHaveLength(names.length);
  requests[0]?.answer([ack(1)]);
  await vi.waitFor(() => expect(sent().at(-1)).toEqual(["a", "b", "c"]));
  const fenced: ReportReply = { type: "fenced", reason: "late" };
  requests.at(-1)?.answer([ack(7), fenced]);
  // The control plane has lost one report: its run opens a channel.
  const refused = { type: "refused", reason: expect.any(String) };
  expect(await Promise.all(replies)).toEqual([ack(7), fenced, refused]);
});

test("no report waits for long, however slow the requests are", async () => {
  busy();
  void send("a");
  await vi.advanceTimersByTimeAsync(HOLD_MS / 2);
  void send("b");
  await vi.advanceTimersByTimeAsync(HOLD_MS / 2 - 1);
  expect(requests).toHaveLength(MAX_UNDER_WAY);
  await vi.advanceTimersByTimeAsync(1);
  expect(sent().at(-1)).toEqual(["a", "b"]);
  void send("c");
  await vi.advanceTimersByTimeAsync(HOLD_MS);
  expect(sent().at(-1)).toEqual(["c"]);
});

test("a request has at most the allowed number of reports, and 256 KiB unless one is larger", async () => {
  busy();
  for (let n = 0; n < MAX_REPORTS + 1; n++) void send(`small ${n}`);
  const large = { ...FRAME, events: [{ event: "logs", data: "x".repeat(200 * 1024) }] };
  for (const name of ["x", "y"]) void send(name, large);
  void send("largest", { ...FRAME, events: [{ event: "logs", data: "x".repeat(300 * 1024) }] });
  await vi.advanceTimersByTimeAsync(HOLD_MS);
  const sizes = sent().slice(MAX_UNDER_WAY);
  expect(sizes.map(({ length }) => length)).toEqual([MAX_REPORTS, 2, 1, 1]);
  expect(sizes.slice(1)).toEqual([["small 32", "x"], ["y"], ["largest"]]);
});

test("a request that fails fails all its reports, and the next ones are sent", async () => {
  busy();
  const failing = [send("a"), send("b")].map((sending) => sending.catch((error) => error));
  await vi.advanceTimersByTimeAsync(HOLD_MS);
  const down = new Error("down");
  requests.at(-1)?.fail(down);
  expect(await Promise.all(failing)).toEqual([down, down]);
  for (const { answer } of requests) answer([ack(1)]);
  await vi.advanceTimersByTimeAsync(0);
  const next = send("c");
  requests.at(-1)?.answer([ack(2)]);
  expect(await next).toEqual(ack(2));
});
