/** The wire protocol, pinned: a change of these values breaks deployed runners. */
import { describe, expect, test } from "vitest";
import {
  CLOSE,
  type DownFrame,
  downFrame,
  PING,
  PONG,
  type UpFrame,
  upFrame,
} from "../../src/protocol/channel.ts";
import { countMessage, waitingJob } from "../../src/protocol/queue.ts";
import {
  claimRequest,
  claimResponse,
  LEASE_HEADER,
  RUNNER_PROTOCOL,
} from "../../src/protocol/runner.ts";
import { MAX_REPORTED } from "../../src/protocol/runner-state.ts";
import { readyContainer, runnerSnapshot } from "./runner-snapshot.ts";

const id = "019a0000-0000-7000-8000-000000000001";

test("the numbers and codes of the channel are fixed", () => {
  expect({ PING, PONG, CLOSE, LEASE_HEADER, RUNNER_PROTOCOL }).toMatchInlineSnapshot(`
    {
      "CLOSE": {
        "badFrame": 4400,
        "fenced": 4409,
        "replaced": 4410,
      },
      "LEASE_HEADER": "x-auspex-lease",
      "PING": "ping",
      "PONG": "pong",
      "RUNNER_PROTOCOL": 2,
    }
  `);
});

describe("frames", () => {
  const up: UpFrame[] = [
    {
      type: "events",
      seq: 1,
      events: [
        { event: "setup", data: { phase: "pulling", progress: 0.5 } },
        { event: "output", data: { any: ["json", null] } },
        { event: "stored", data: { name: "0-a_b", size: 300_000 } },
        { event: "logs", data: "line\n" },
        { event: "metrics", data: { output_tokens: 3 } },
      ],
    },
    {
      type: "events",
      seq: 2,
      events: [],
      finish: {
        status: "failed",
        output: "none",
        error: { source: "external", message: "boom", detail: null },
        setup_seconds: 1.5,
        execution_seconds: 0,
        billable: { run_seconds: 0.25, setup_seconds: 0 },
      },
    },
    { type: "release", reason: "shutting down" },
  ];
  const down: DownFrame[] = [
    { type: "welcome", seq: 0, flush_ms: 30 },
    { type: "ack", seq: 2, flush_ms: 1_000 },
    { type: "flush", flush_ms: 30 },
    { type: "cancel", reason: "canceled by its owner" },
    { type: "fenced", reason: "attempt 1 has ended" },
  ];

  test.each(up)("an up frame of type $type is parsed", (frame) => {
    expect(upFrame.parse(JSON.parse(JSON.stringify(frame)))).toEqual(frame);
  });

  test.each(down)("a down frame of type $type is parsed", (frame) => {
    expect(downFrame.parse(JSON.parse(JSON.stringify(frame)))).toEqual(frame);
  });

  test.each([
    {},
    { type: "hello" },
    { type: "events", seq: 0, events: [] },
    { type: "events", seq: 1.5, events: [] },
    { type: "events", seq: 1 },
    { type: "events", seq: 1, events: [{ event: "status", data: { status: "succeeded" } }] },
    { type: "events", seq: 1, events: [{ event: "done", data: {} }] },
    { type: "events", seq: 1, events: [{ event: "output" }] },
    { type: "events", seq: 1, events: [{ event: "stored", data: { name: "../a", size: 1 } }] },
    { type: "events", seq: 1, events: [{ event: "logs", data: 5 }] },
    { type: "events", seq: 1, events: [{ event: "metrics", data: { tokens: "3" } }] },
    { type: "events", seq: 1, events: [], finish: { status: "started", output: "none" } },
    { type: "events", seq: 1, events: [], finish: { status: "succeeded", output: "all" } },
    { type: "release" },
  ])("the frame %j is refused", (frame) => {
    expect(upFrame.safeParse(frame).success).toBe(false);
  });
});

describe("messages", () => {
  test("a message of the dispatch queue has its fields", () => {
    const message = {
      object_id: "0f".repeat(32),
      user_id: id,
      pool: "l40s",
      hardware: "l40s-x4",
      gpus: 4,
      priority: "normal",
      model: "ada/story:3",
      model_id: id,
      model_owner_id: id,
      image: "r@sha256:aa",
      container_key: "c",
      max_concurrency: 1,
      run_limit_ms: 1_800_000,
    };
    expect(waitingJob.parse(message)).toEqual(message);
    expect(Object.keys(waitingJob.shape)).toMatchInlineSnapshot(`
      [
        "object_id",
        "user_id",
        "pool",
        "hardware",
        "gpus",
        "priority",
        "model",
        "model_id",
        "model_owner_id",
        "image",
        "container_key",
        "max_concurrency",
        "run_limit_ms",
        "warm_up",
      ]
    `);
  });

  test("a message of the queue of counts has its fields", () => {
    expect(Object.keys(countMessage.shape)).toEqual(["user_id", "model_id", "predictions"]);
  });
});

describe("a claim", () => {
  const snapshot = runnerSnapshot();
  const claim = { runner_id: id, session: id, pool: "l40s", snapshot, images: [] };
  const telling = (changes: object) => ({ ...claim, snapshot: { ...snapshot, ...changes } });
  const many = <One>(count: number, one: One) => Array.from({ length: count }, () => one);

  test("a claim can have only the required fields", () => {
    expect(claimRequest.parse(claim)).toEqual(claim);
  });

  test("a claim can have all that the runner has", () => {
    const gpu = { id: "GPU-0", name: "NVIDIA L40S", memory_gb: 45, holder: "ready" };
    const full = telling({
      number: 7,
      handed: 1_795_700_000_000,
      slots: 2,
      jobs: [1_795_700_000_000],
      devices: [gpu, { ...gpu, id: "GPU-1", holder: null, lost: true }],
      disks: { data: { free: 2 ** 60, total: 2 ** 63 }, images: { free: 0, total: 1 } },
      containers: [
        readyContainer({ gpus: 1, users: 1, idle_ms: null, runs_ms: [40], memory_bytes: 0 }),
        readyContainer({ memory_bytes: 2 ** 50 }),
      ],
      measured: [
        { key: "c", setup_ms: 12_000 },
        { key: "c", run_ms: 300 },
      ],
      declined: [{ handout: 1_795_700_000_000, reason: "no max_concurrency" }],
      receipts: ["r"],
    });
    expect(claimRequest.parse(full)).toEqual(full);
  });

  test.each<[string, unknown]>([
    ["less than no slot", telling({ slots: -1 })],
    ["half a slot", telling({ slots: 1.5 })],
    ["no number", telling({ number: 0 })],
    ["an unknown phase", telling({ containers: [{ ...readyContainer(), phase: "warm" }] })],
    ["too many containers", telling({ containers: many(MAX_REPORTED + 1, readyContainer()) })],
    ["too many runs", telling({ containers: many(3, readyContainer({ runs_ms: many(700, 1) })) })],
    ...[-1, 0.5, 2 ** 50 + 1, null].map((memory_bytes): [string, unknown] => [
      `a container with ${memory_bytes} bytes of memory`,
      telling({ containers: [{ ...readyContainer(), memory_bytes }] }),
    ]),
    ["max_concurrency for too many", telling({ max_containers: 257 })],
    ["a disk without a size", telling({ disks: { data: { free: 0, total: 0 } } })],
    ["too many jobs", telling({ jobs: many(1_001, 1) })],
    ["too many measures", telling({ measured: many(201, { key: "c" }) })],
    ["too many receipts", telling({ receipts: many(1_001, "x") })],
    ["a receipt that is too long", telling({ receipts: ["x".repeat(65)] })],
    ["no id", { ...claim, runner_id: "me" }],
    ["no pool", { ...claim, pool: "" }],
    ["too many images", { ...claim, images: many(501, "x") }],
  ])("a claim is refused with %s", (_, bad) => {
    expect(claimRequest.safeParse(bad).success).toBe(false);
  });

  test("a claim is answered with jobs", () => {
    const job = {
      prediction_id: id,
      attempt: 1,
      handout: 1_795_700_000_000,
      stop: ["idle"],
      lease: `1.${"0f".repeat(32)}.${id}`,
      model: { owner: "ada", name: "story", version_number: 1 },
      image: { repository: "registry.example.com/ada/story", digest: `sha256:${"a".repeat(64)}` },
      keys: { container: "c", files: "f" },
      hardware: { identifier: "l40s-x4", gpus: 4 },
      egress: "public",
      interface: "cog" as const,
      variables: {},
      setup_logs: true,
      measure: true,
      describe: true,
      files: [
        { at: ["image"] },
        {
          at: ["masks", 0],
          stored: { key: `${id}/a.png`, name: "a.png", mime_type: "image/png", size: 3 },
        },
      ],
      limits: {
        idle_seconds: 300,
        max_concurrency: 1,
        output_bytes: 16_777_216,
        logs_bytes: 10_485_760,
      },
      call: null,
      input: { prompt: "hi" },
    };
    expect(claimResponse.parse({ jobs: [job] })).toEqual({ jobs: [job] });
    const { input: _, ...large } = job;
    expect(claimResponse.parse({ jobs: [large] })).toEqual({ jobs: [large] });
    const ownImage = { repository: `auspex/models/${id}`, digest: job.image.digest, grant: "g" };
    const own = { ...job, image: ownImage };
    expect(claimResponse.parse({ jobs: [own] })).toEqual({ jobs: [own] });
    const weights = [
      { kind: "oci", name: "base", target: "/src/weights", manifest: job.image.digest },
      { kind: "file", target: "/m/a", id, url: "https://auspex.example.com/v1/files/x/a", size: 3 },
    ];
    const weighed = { ...own, keys: { ...job.keys, weights: "w" }, weights };
    expect(claimResponse.parse({ jobs: [weighed] })).toEqual({ jobs: [weighed] });
    const input = JSON.parse('{"__proto__": "a name like any other"}');
    const { jobs } = claimResponse.parse({ jobs: [{ ...job, input }] });
    expect(JSON.stringify(jobs[0]?.input)).toBe(JSON.stringify(input));
  });
});
