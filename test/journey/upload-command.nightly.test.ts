/** `auspex upload` from the command line, against the real Worker behind a proxy that counts. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import {
  createServer,
  type IncomingMessage,
  request as requestTo,
  type ServerResponse,
} from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { Client } from "../../src/dev/client.ts";
import type { Deployment } from "../../src/dev/deployment.ts";
import { type Seed, seed } from "../../src/dev/seed.ts";
import { nothing } from "../../src/protocol/common.ts";
import { upload } from "../../src/protocol/upload.ts";
import { OPERATOR_TOKEN } from "./support/access.ts";
import { startWorker } from "./support/deployment.ts";

/** The smallest part that R2 takes, MiB. */
const PART_MIB = 5;
const SIZE = 2 * PART_MIB * 1024 * 1024 + 1_234;
/** An upload of one part, broken off before any byte of it arrived. */
const NOTHING = { of: 1, arrived: [] };

let deployment: Deployment;
let user: Seed;
let client: Client;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-upload-"));
  deployment = await startWorker({
    stateFolder: join(folder, "state"),
    variables: { UPLOAD_PART_MIB: String(PART_MIB) },
  });
  user = await seed(new Client(deployment.url, OPERATOR_TOKEN), "ada");
  client = new Client(deployment.url, user.token);
});
afterAll(async () => {
  await deployment.stop();
  rmSync(folder, { recursive: true });
});

/** The fate of a request: it passes, its answer is kept back, it is held, or it is refused. */
type Fate = "pass" | "unanswered" | "held" | "refused";

/** A user's machine with one file, and a proxy between it and the Worker. */
class Desk {
  readonly file: string;
  readonly states: string;
  /** The number of each part that was sent, in order. */
  sent: number[] = [];
  fate: (path: string) => Fate = () => "pass";
  url = "";
  readonly #changes = new EventEmitter();
  readonly #server = createServer((request, response) => this.#serve(request, response));
  readonly #answered: string[] = [];

  static async open(name: string, content = randomBytes(5)): Promise<Desk> {
    const desk = new Desk(name);
    writeFileSync(desk.file, content);
    desk.#server.listen(0, "127.0.0.1");
    await once(desk.#server, "listening");
    const address = desk.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    desk.url = `http://127.0.0.1:${address.port}`;
    return desk;
  }

  private constructor(name: string) {
    const home = join(folder, `desk-${randomBytes(4).toString("hex")}`);
    mkdirSync(home);
    this.file = join(home, name);
    this.states = join(home, "auspex/uploads");
  }

  /** Starts the command on the file. */
  start(flags: string[] = [], environment: Record<string, string> = {}) {
    const command = [join(ROOT, "src/cli/main.ts"), "upload", this.file, ...flags];
    const child = spawn(process.execPath, command, {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env.PATH,
        AUSPEX_URL: this.url,
        AUSPEX_TOKEN: user.token,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        XDG_STATE_HOME: join(this.states, "../.."),
        ...environment,
      },
    });
    const startedAt = performance.now();
    const [out, err, exited] = [text(child.stdout), text(child.stderr), once(child, "close")];
    const end = async () => {
      const [code] = await exited;
      return { code, out: await out, err: await err, ms: performance.now() - startedAt };
    };
    return { child, end };
  }

  /** Runs the command to its end. */
  run(flags?: string[], environment?: Record<string, string>) {
    return this.start(flags, environment).end();
  }

  /**
   * Runs the command until these parts have arrived, and all others are under way. @returns the upload's id
   */
  async breakOff(signal: NodeJS.Signals, { of, arrived }: { of: number; arrived: number[] }) {
    const arrives = (path: string) => !isPart(path) || arrived.includes(numberOf(path));
    this.fate = (path) => (arrives(path) ? "pass" : "held");
    const { child, end } = this.start();
    await this.until(
      () => this.sent.length === of && this.#answered.filter(isPart).length === arrived.length,
    );
    child.kill(signal);
    const ended = await end();
    this.fate = () => "pass";
    this.sent = [];
    const { id } = JSON.parse(readFileSync(join(this.states, this.notes[0] ?? ""), "utf8"));
    const { parts } = await client.call(upload, "GET", `/uploads/${id}`);
    expect(parts.map(({ part_number }) => part_number)).toEqual(arrived);
    return { id, ...ended };
  }

  /** Names of the notes on unfinished uploads. */
  get notes(): string[] {
    return readdirSync(this.states);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.#changes, "change");
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { method, url: path = "", headers } = request;
    if (isPart(path)) this.sent.push(numberOf(path));
    const fate = this.fate(path);
    if (fate === "refused") {
      const body = { type: "t", title: "t", detail: "The address has expired.", request_id: "r" };
      response.writeHead(403).end(JSON.stringify({ ...body, status: 403 }));
    }
    if (fate === "pass" || fate === "unanswered") {
      // An unchanged Host header makes the Worker answer with addresses that lead through this proxy.
      const onward = requestTo(`${deployment.url}${path}`, { method, headers }, (answer) => {
        if (fate === "pass") {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        }
        response.once("finish", () => this.#note(path));
        if (fate === "unanswered") answer.resume().once("end", () => this.#note(path));
      });
      onward.on("error", () => response.destroy());
      request.pipe(onward);
    }
    this.#changes.emit("change");
  }

  #note(path: string): void {
    this.#answered.push(path);
    this.#changes.emit("change");
  }

  /** Whether the Worker has answered such a request. */
  answered(pattern: RegExp): boolean {
    return this.#answered.some((path) => pattern.test(path));
  }
}

/** `100%, 10.5 of 10.5 MB, 0 B/s, finishing` */
const PROGRESS = /^\d+%, [\d.]+ of [\d.]+ [kM]?B(, [\d.]+ [kM]?B\/s)?(, [\w ]+)?\n$/;
const PROGRESS_MS = 5_000;

/** Returns the output of a command without its progress, of which there is a line every five seconds. */
function withoutProgress({ err, ms }: { err: string; ms: number }): string {
  const lines = err.split(/(?<=\n)/);
  const others = lines.filter((line) => !PROGRESS.test(line));
  expect(lines.length - others.length).toBeLessThanOrEqual(ms / PROGRESS_MS);
  return others.join("");
}

const isPart = (path: string): boolean => path.includes("/parts/");

const numberOf = (path: string): number => Number(/\/parts\/(\d+)/.exec(path)?.[1]);

/** Returns the facts of the upload at this address, and its bytes. */
async function stored(url: string) {
  const id = url.trim().split("/").at(-1);
  const facts = await client.call(upload, "GET", `/uploads/${id}`);
  const answer = await fetch(facts.file_url ?? "");
  return { ...facts, bytes: Buffer.from(await answer.arrayBuffer()) };
}

async function expectStored(desk: Desk, out: string) {
  const { bytes, ...facts } = await stored(out);
  expect(bytes.equals(readFileSync(desk.file))).toBe(true);
  expect(desk.notes).toEqual([]);
  return facts;
}

describe.concurrent("auspex upload", () => {
  it("`auspex upload` sends a file, and prints its address and nothing else", async () => {
    const desk = await Desk.open("photo.png", randomBytes(SIZE));
    const { code, out, ...said } = await desk.run();
    expect(code).toBe(0);
    expect(withoutProgress(said)).toMatch(/^10\.5 MB in [\d.]+s \(.*\/s\)\n$/);
    expect(out).toMatch(new RegExp(`^${desk.url}/v1/uploads/[0-9a-f-]{36}\n$`));
    const facts = await expectStored(desk, out);
    expect(facts).toMatchObject({ name: "photo.png", mime_type: "image/png", size: SIZE });
    expect(desk.sent.sort()).toEqual([1, 2, 3]);
    desk.close();
  });

  it("`auspex upload` takes --quiet, --name, --mime-type, --url and --token-file", async () => {
    const desk = await Desk.open("unknown.kind");
    const tokenFile = `${desk.file}.token`;
    writeFileSync(tokenFile, `${user.token}\n`);
    const flags = ["--quiet", "--name", "other.bin", "--mime-type", "application/x-other"];
    const from = ["--url", desk.url, "--token-file", tokenFile];
    const environment = { AUSPEX_URL: "", AUSPEX_TOKEN: "" };
    const { code, out, err } = await desk.run([...flags, ...from], environment);
    expect([code, err]).toEqual([0, ""]);
    const facts = await expectStored(desk, out);
    expect(facts).toMatchObject({ name: "other.bin", mime_type: "application/x-other" });
    desk.close();
  });

  it("an upload that was killed midway goes on with the parts that are missing", async () => {
    const desk = await Desk.open("weights.bin", randomBytes(SIZE));
    const { id } = await desk.breakOff("SIGKILL", { of: 3, arrived: [1] });
    const { code, out, err } = await desk.run();
    expect([code, err]).toEqual([
      0,
      expect.stringContaining("Resuming. 1 of 3 parts already uploaded"),
    ]);
    expect(desk.sent.sort()).toEqual([2, 3]);
    expect((await expectStored(desk, out)).id).toBe(id);
    desk.close();
  });

  it("Ctrl-C says how to go on, also with --quiet", async () => {
    const desk = await Desk.open("weights.bin");
    const { id, code, out, err } = await desk.breakOff("SIGINT", NOTHING);
    expect([code, out]).toEqual([130, ""]);
    expect(err).toContain("Interrupted. Run the same command again to resume.");
    const again = await desk.run(["-q"]);
    expect([again.code, again.err]).toEqual([0, ""]);
    expect((await expectStored(desk, again.out)).id).toBe(id);
    desk.close();
  });

  it("a file that changed after a broken upload is uploaded from the beginning", async () => {
    const desk = await Desk.open("weights.bin");
    const { id } = await desk.breakOff("SIGKILL", NOTHING);
    utimesSync(desk.file, 1, 1);
    const { code, out } = await desk.run();
    expect(code).toBe(0);
    expect((await stored(out)).id).not.toBe(id);
    // The note on the other upload stays until it is swept: the file may change back.
    expect(desk.notes.length).toBe(1);
    desk.close();
  });

  it("an upload that the service has forgotten starts again", async () => {
    const desk = await Desk.open("weights.bin");
    const { id } = await desk.breakOff("SIGKILL", NOTHING);
    await client.call(nothing, "DELETE", `/uploads/${id}`);
    const { code, out } = await desk.run();
    expect(code).toBe(0);
    expect((await expectStored(desk, out)).id).not.toBe(id);
    desk.close();
  });

  it("an upload whose addresses have expired is given up, and says so", async () => {
    const desk = await Desk.open("weights.bin");
    desk.fate = (path) => (isPart(path) ? "refused" : "pass");
    const { code, out, ...said } = await desk.run();
    expect([code, out]).toEqual([1, ""]);
    expect(withoutProgress(said)).toBe(
      "auspex: part 1 of 1: The address has expired.\nRun the same command again to start over.\n",
    );
    expect(desk.notes).toEqual([]);
    desk.close();
  });

  it("an upload whose completion was not answered prints only its address, and the next is a new one", async () => {
    const desk = await Desk.open("weights.bin");
    desk.fate = (path) => (path.endsWith("/complete") ? "unanswered" : "pass");
    const { child, end } = desk.start();
    await desk.until(() => desk.answered(/\/complete$/));
    child.kill("SIGKILL");
    expect((await end()).out).toBe("");
    desk.fate = () => "pass";
    desk.sent = [];
    const { code, out } = await desk.run();
    expect([code, desk.sent]).toEqual([0, []]);
    await expectStored(desk, out);
    const next = await desk.run();
    expect([next.code, desk.sent, next.out === out]).toEqual([0, [1], false]);
    desk.close();
  });

  it("a token that is not valid is refused with advice where to put another", async () => {
    const desk = await Desk.open("small.txt");
    const { code, out, err } = await desk.run([], { AUSPEX_TOKEN: "aus_nobody" });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^auspex: .*token.*\n.*AUSPEX_TOKEN/);
    desk.close();
  });

  it("a file that is too large is refused with the limit and advice", async () => {
    const desk = await Desk.open("huge.bin");
    truncateSync(desk.file, 2e12);
    const { code, out, err } = await desk.run();
    expect([code, out, desk.sent]).toEqual([1, "", []]);
    expect(err).toMatch(
      /huge\.bin \(2\.0 TB\) was rejected: .*size.* 996147200000\nIf it is too large, split it/,
    );
    desk.close();
  });

  it("a mistake in the command itself has the exit code 2", async () => {
    const desk = await Desk.open("empty", Buffer.alloc(0));
    const { code, err } = await desk.run();
    expect([code, err]).toEqual([2, expect.stringContaining("is empty")]);
    desk.close();
  });
});
