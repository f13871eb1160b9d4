/** Endpoints for runners, while each of their platform calls fails in turn. Answers are never a 500. */
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { type Job, LEASE_HEADER } from "../../../src/protocol/runner.ts";
import { askedAgain } from "../support/asked-again.ts";
import { Client } from "../support/client.ts";
import { type Failure, failing } from "../support/failing.ts";
import {
  beginRunnerUpload,
  fileUrl,
  postFile,
  postUpload,
  postValue,
  readFile,
  readInput,
  sendParts,
  uploaded,
} from "../support/files.ts";
import { expectFailures, FAILURES, LONG } from "../support/one-at-a-time.ts";
import { type FakeRunner, sessionBody } from "../support/runner.ts";
import { FRAME } from "../support/short-runs.ts";
import { newWorld, type World } from "../support/world.ts";

expectFailures();

interface Made {
  world: World;
  runner: FakeRunner;
  job: Job;
  /** The file of the job's input. `upload` is an upload of the runner whose parts have arrived. */
  file: string;
  upload: { id: string; etags: string[] };
}

interface Row {
  act: (made: Made) => Promise<Response>;
  status?: number;
  failures?: Failure[];
}

const ROWS: Record<string, Row> = {
  "GET /v1/runner/hardware/:identifier": {
    act: ({ runner, world: { hardware } }) =>
      runner.client.fetch(`/v1/runner/hardware/${hardware}`),
  },
  "POST /v1/runner/sessions": {
    act: ({ world: { runnerToken, hardware } }) =>
      new Client(runnerToken).post("/v1/runner/sessions", sessionBody(hardware, "one")),
  },
  // Jobs of a lost answer are handed out again after CONNECT_SECONDS.
  "POST /v1/runner/jobs/claim": {
    act: ({ runner }) => runner.poll(),
    failures: FAILURES.slice(0, 1),
  },
  "POST /v1/runner/state": {
    act: ({ runner }) =>
      runner.client.post("/v1/runner/state", {
        runner_id: runner.id,
        session: runner.session,
        pool: runner.pool,
        snapshot: runner.snapshot(),
      }),
  },
  "POST /v1/runner/log": {
    act: ({ runner: { client, id: runner_id, session, pool } }) =>
      client.post("/v1/runner/log", { runner_id, session, pool, lines: [] }),
  },
  "GET /v1/runner/channel": {
    act: ({ runner, job }) =>
      runner.client.fetch("/v1/runner/channel", {
        headers: { upgrade: "websocket", [LEASE_HEADER]: job.lease },
      }),
    status: 101,
  },
  "POST /v1/runner/reports": {
    act: ({ runner, job: { lease } }) =>
      runner.client.post("/v1/runner/reports", {
        reports: [{ lease, frame: JSON.stringify(FRAME) }],
      }),
  },
  "GET /v1/runner/input": { act: ({ runner, job }) => readInput(runner, job) },
  "GET /v1/runner/files/:source/:name": {
    act: ({ runner, job, file }) => readFile(runner, job, file),
  },
  "POST /v1/runner/files": { act: ({ runner, job }) => postFile(runner, job, "file") },
  "POST /v1/runner/values": { act: ({ runner, job }) => postValue(runner, job, '"value"') },
  "POST /v1/runner/uploads": {
    act: ({ runner, job }) => postUpload(runner, job, "", { size: 3, mime_type: "text/plain" }),
  },
  "POST /v1/runner/uploads/:id/complete": {
    act: ({ runner, job, upload: { id, etags } }) =>
      postUpload(runner, job, `/${id}/complete`, { etags }),
  },
  "POST /v1/runner/telemetry": {
    act: ({ runner }) =>
      runner.client.post("/v1/runner/telemetry", {
        runner_id: runner.id,
        session: runner.session,
        state: "ready",
        slots: 1,
        running: [],
        warm: [],
        load: { cpu: 0.5, memory_used_gb: 1 },
      }),
  },
};

const INPUT = { input: { properties: { file: { type: "string", format: "uri" } } } };

test("the table has every endpoint", () => {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && path.startsWith("/v1/runner/"))
    .map(({ method, path }) => `${method} ${path}`);
  expect(Object.keys(ROWS).sort()).toEqual([...new Set(routes)].sort());
});

/** Makes a runner that has taken a job, while another job waits. */
async function prepare(): Promise<Made> {
  const world = await newWorld(INPUT);
  const url = fileUrl(await uploaded(world.client));
  const [, file = ""] = /files\/(.+)\?/.exec(url) ?? [];
  await world.waiting({ file: url });
  const runner = await world.runner(2);
  const job = await runner.take();
  const begun = await beginRunnerUpload(runner, job, 3);
  const etags = await sendParts(begun, new TextEncoder().encode("abc"));
  await world.waiting();
  return { world, runner, job, file, upload: { id: begun.id, etags } };
}

test.each(Object.entries(ROWS))(
  "%s succeeds although each of its calls fails in turn",
  LONG,
  async (_, { act, status: usual = 200, failures }) => {
    const platform = failing();
    const ask = async (nth = 0, failure?: Failure) => {
      const made = await prepare();
      platform.begin((call) => (call === nth ? failure : undefined));
      const statuses = await askedAgain(async () => {
        const response = await act(made);
        await response.text();
        return response;
      });
      const calls = platform.calls();
      platform.end();
      expect(statuses.at(-1), `${calls[nth - 1]} of ${calls}: ${statuses}`).toBe(usual);
      return calls;
    };
    const calls = await ask();
    expect(calls).not.toEqual([]);
    for (let nth = 1; nth <= calls.length; nth++)
      for (const failure of failures ?? FAILURES) await ask(nth, failure);
  },
);
