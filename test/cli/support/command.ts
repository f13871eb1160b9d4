/** Runs `auspex` in a home of its own: as a user calls it, or in this process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { foldersOf } from "../../../src/cli/folders.ts";
import { runProgram } from "../../../src/cli/program.ts";
import { COMMAND } from "../../processes/packages.ts";

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

interface Started {
  child: ChildProcess;
  end(): Promise<Ended>;
  /** Resolves when standard error matches the pattern. */
  says(pattern: RegExp): Promise<void>;
  /** Resolves with the first line of standard output. */
  line(): Promise<string>;
}

interface StartOptions {
  environment?: Record<string, string>;
  /** The text that is piped in. */
  input?: string;
}

export class Home {
  readonly folder = mkdtempSync(join(tmpdir(), "auspex-home-"));
  readonly environment: Record<string, string>;

  constructor(environment: Record<string, string> = {}) {
    this.environment = {
      PATH: process.env.PATH ?? "",
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
      HOME: this.folder,
      XDG_CONFIG_HOME: join(this.folder, "config"),
      XDG_STATE_HOME: join(this.folder, "state"),
      XDG_CACHE_HOME: join(this.folder, "cache"),
      ...environment,
    };
  }

  start(args: string[], { environment, input = "" }: StartOptions = {}): Started {
    const [program, ...flags] = COMMAND;
    const child = spawn(program, [...flags, ...args], {
      cwd: this.folder,
      env: { ...this.environment, ...environment },
    });
    child.stdin.end(input);
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (more: string) => {
      said += more;
    });
    const [out, exited] = [text(child.stdout), once(child, "close")];
    let printed = "";
    child.stdout.on("data", (more: Buffer) => {
      printed += more;
    });
    return {
      async line() {
        while (!printed.includes("\n")) await Promise.race([once(child.stdout, "data"), exited]);
        return printed.split("\n")[0] ?? "";
      },
      child,
      async end() {
        const [code] = await exited;
        return { code, out: await out, err: said };
      },
      async says(pattern) {
        while (!pattern.test(said))
          if (child.stderr.closed) throw new Error(`It ended with: ${said}`);
          else await Promise.race([once(child.stderr, "data"), exited]);
      },
    };
  }

  /** Runs the command to its end in this process, because a process of its own takes 0.5 s of a processor to start. */
  async call(args: string[], { environment = {}, input = "" }: StartOptions = {}): Promise<Ended> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const printed = Promise.all([text(stdout), text(stderr)]);
    const own = { ...this.environment, ...environment };
    const leave = enter(this.folder, own);
    try {
      const code = await runProgram(args, {
        environment: own,
        folders: foldersOf(own),
        signal: new AbortController().signal,
        stdin: Readable.from([input]),
        stdout,
        stderr,
      });
      stdout.end();
      stderr.end();
      const [out, err] = await printed;
      return { code, out, err };
    } finally {
      leave();
    }
  }

  /** Runs the command to its end. */
  run(args: string[], options?: StartOptions): Promise<Ended> {
    return this.start(args, options).end();
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Gives this process the folder and the variables. @returns a function that gives it back its own */
function enter(folder: string, environment: Record<string, string>): () => void {
  const [from, before] = [process.cwd(), { ...process.env }];
  process.chdir(folder);
  setVariables(environment);
  return () => {
    process.chdir(from);
    setVariables(before);
  };
}

function setVariables(wanted: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in wanted)) delete process.env[name];
  Object.assign(process.env, wanted);
}
