// Starts a model folder as a process, like the process engine does, and receives its webhooks.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../../../src/dev/bundle.ts";
import { copyModels } from "../../support/models.ts";

/** The folder with the complete examples, for all test files of this process. */
export const examplesFolder = mkdtempSync(join(tmpdir(), "auspex-examples-"));
process.once("exit", () => rmSync(examplesFolder, { recursive: true }));
// The example duotone needs `sharp` from the repository's modules.
symlinkSync(join(ROOT, "node_modules"), join(examplesFolder, "node_modules"));
await copyModels(examplesFolder);

export const webhookToken = "a token of the test";

export interface State {
  id: string;
  status: string;
  output?: unknown;
  error?: string;
  logs: string;
  metrics: Record<string, number>;
}

export interface Answer<Body> {
  status: number;
  body: Body;
}

export interface Example {
  get<Body>(path: string): Promise<Answer<Body>>;
  /** Sends the body: a string unchanged, any other value as JSON. */
  send<Body>(method: string, path: string, body?: unknown, prefer?: string): Promise<Answer<Body>>;
  url: string;
  /** The exit code, or the signal that ended the process. */
  exited: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** Starts an example; resolves once its setup is over, successfully or not. */
export async function startExample(
  folder: string,
  environment: Record<string, string> = {},
): Promise<Example> {
  const manifest = await manifestOf(folder);
  const example = await launchExample(folder, environment);
  await until(async () =>
    manifest.interface === "vendora"
      ? (await example.get("/health")).status === 200
      : (await health(example)) !== "STARTING",
  );
  return example;
}

async function manifestOf(folder: string): Promise<{ interface?: string; command: string[] }> {
  return JSON.parse(await readFile(join(folder, "auspex.json"), "utf8"));
}

/** Starts an example; resolves once it listens. */
export async function launchExample(
  folder: string,
  environment: Record<string, string> = {},
): Promise<Example> {
  const [command, ...args] = (await manifestOf(folder)).command;
  const child = spawn(command ?? "", args, {
    cwd: folder,
    env: {
      // The PATH has the Node that runs the tests, whatever else the machine has.
      PATH: dirname(process.execPath),
      PORT: "0",
      HOST: "127.0.0.1",
      WEBHOOK_AUTH_TOKEN: webhookToken,
      COG_THROTTLE_RESPONSE_INTERVAL: "0.05",
      ...environment,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit").then(([code, signal]) => code ?? signal);
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, "line")) as [string];
  const url = line.replace("listening on ", "");

  async function send<Body>(method: string, path: string, body?: unknown, prefer?: string) {
    const headers = { "content-type": "application/json", ...(prefer && { prefer }) };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(url + path, { method, headers, body: text });
    return { status: response.status, body: (await response.json()) as Body };
  }

  const example: Example = {
    url,
    exited,
    send,
    get: (path) => send("GET", path),
    kill: (signal) => child.kill(signal),
    async stop() {
      child.kill("SIGKILL");
      await exited;
    },
  };
  return example;
}

export async function health(example: Example): Promise<string> {
  const { body } = await example.get<{ status: string }>("/health-check");
  return body.status;
}

/** Polls until the condition holds; gives up after 5 s. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("It did not come about within 5 s");
    await sleep(5);
  }
}

export interface Receiver {
  url: string;
  /** Returns the webhooks of one prediction, in order. */
  of(id: string): State[];
  /** Resolves with the terminal state of a prediction. */
  end(id: string): Promise<State>;
  /** Returns the greatest number of webhooks that were being answered at one time. */
  busiest(): number;
  authorizations: Set<string | undefined>;
  /** Called for each webhook; returns the status of the answer and its delay. */
  behave: () => { status: number; afterMs: number };
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const states: State[] = [];
  let open = 0;
  let most = 0;
  const server = createServer(async (request, response) => {
    most = Math.max(most, ++open);
    receiver.authorizations.add(request.headers.authorization);
    let text = "";
    for await (const chunk of request) text += chunk;
    states.push(JSON.parse(text));
    const { status, afterMs } = receiver.behave();
    if (afterMs > 0) await sleep(afterMs);
    open--;
    response.writeHead(status).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const of = (id: string) => states.filter((state) => state.id === id);
  const ended = (id: string) =>
    of(id).find(({ status }) => ["succeeded", "failed", "canceled"].includes(status));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    of,
    async end(id) {
      await until(() => ended(id) !== undefined);
      return ended(id) as State;
    },
    busiest: () => most,
    authorizations: new Set(),
    behave: () => ({ status: 200, afterMs: 0 }),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return receiver;
}
